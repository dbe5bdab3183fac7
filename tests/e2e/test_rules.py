"""A/A arms, stopping and the proof of trials, with every part real."""

from __future__ import annotations

import pytest

from tests.stack import Stack

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"


@pytest.fixture(scope="module")
def campaign(stack: Stack) -> str:
    created = stack.post(
        name="rules",
        endpoints=["testbed-caddy-100KB"],
        profiles=["delay-50"],
        clients=["curl-quiche"],
        rounds=12,  # verdicts and the floor need six pairs; on a busy machine some trials are left out
        max_rounds=60,
        target_width_pct=30,
        aa=True,
        seed=3,
    )
    assert created["clients"] == [H2, H3, f"{H2}@aa"]
    assert created["trials_planned"] == 3 * 61
    ident: str = created["id"]
    stack.wait_done(ident, 240)
    return ident


def test_a_cell_ends_when_its_interval_is_narrow_and_says_what_it_saved(stack: Stack, campaign: str) -> None:
    ended = stack.campaign(campaign)
    trials = stack.trials(campaign)
    rounds = max(trial["round"] for trial in trials)
    assert ended["state"] == "done"
    assert 12 <= rounds < 60
    assert len(trials) == 3 * (rounds + 1), "a cell ends with a whole round"
    assert ended["rounds_saved"] == 60 - rounds
    assert ended["trials_saved"] == ended["trials_planned"] - ended["trials_done"] == 3 * (60 - rounds)
    assert (ended["progress"], ended["eta_s"], ended["waiting_for"]) == (1, 0, [])


def test_the_client_that_runs_twice_shows_the_noise(stack: Stack, campaign: str) -> None:
    (cell,) = (cell for provider in stack.heatmap(campaign)["providers"] for cell in provider["cells"])
    assert 0 <= cell["aa_floor_pct"] < 10
    assert not cell["below_floor"], "H3 saves a round trip of 60 ms"
    assert cell["verdict"] == "h3 faster"
    twin = stack.heatmap(campaign, baseline=H2, candidate=f"{H2}@aa")["providers"][0]["cells"][0]
    assert abs(twin["diff_pct"]) < 5


def test_each_trial_has_the_proof_of_link_and_machine(stack: Stack, campaign: str) -> None:
    (cell,) = (cell for provider in stack.heatmap(campaign)["providers"] for cell in provider["cells"])
    machine = cell["proof"]["machine"]
    assert machine["rmem_default"] > 0
    assert machine["tcp_congestion_control"]
    assert machine["ca_file"]
    assert machine["path"]["box_version"]
    for end in ("client", "uplink"):
        assert machine["path"]["offloads"][end] == {"tso": False, "gso": False, "gro": False}
    for trial in stack.trials(campaign):
        host, down = trial["proof"]["host"], trial["proof"]["downlink"]
        assert down["offered_packets"] == down["sent_packets"] + down["dropped_packets"] > 60
        assert host["elapsed_ms"] >= trial["ttlb_ms"]
        assert 0 <= host["busy_share"] <= 1
        if cell["proof"]["box_kind"] == "uml":
            assert 0 < host["box_cpu_share"] < 1.5
