from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from scipy.stats import binomtest

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.trial import FailureKind
from lastbyte.stats import papermodes
from lastbyte.stats.percentiles import percentiles
from lastbyte.stats.phases import PhaseTimes, decompose
from lastbyte.stats.significance import spread_p, wilcoxon_p
from tests.integration.samples import ENDPOINTS, H2, H3, bad, good, proof


@pytest.fixture
def campaign(api: httpx.Client) -> str:
    body = {
        "endpoints": [endpoint.id for endpoint in ENDPOINTS],
        "profiles": ["baseline", "loss-1"],
        "clients": ["curl-quiche"],
        "rounds": 10,
    }
    return str(api.post("/campaigns", json=body).json()["id"])


def squares(api: httpx.Client, campaign: str, **params: str) -> dict[tuple[str, str], dict[str, Any]]:
    heatmap = api.get(f"/campaigns/{campaign}/heatmap", params=params).json()
    return {
        (cell["endpoint"], cell["profile"]): cell for provider in heatmap["providers"] for cell in provider["cells"]
    }


def test_empty_heatmap_has_every_square(api: httpx.Client, campaign: str) -> None:
    heatmap = api.get(f"/campaigns/{campaign}/heatmap").json()
    assert (heatmap["baseline"], heatmap["candidate"]) == (H2, H3)
    assert heatmap["origin_note"].startswith("Testbed")
    assert [(p["provider"], p["base_rtt_ms"], len(p["cells"])) for p in heatmap["providers"]] == [
        ("testbed-caddy", 10, 4),
        ("testbed-nginx", 20, 4),
    ]
    for cell in squares(api, campaign).values():
        assert (cell["n"], cell["diff_pct"], cell["verdict"]) == (0, None, "no data")
        assert cell["proof"] is None
        assert cell["unproven_reason"] is None


def test_only_counted_rounds_with_both_arms_are_paired(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    cells.store_trial(cell, "w", good(0, H2, 9.0))  # the warm-up is far off and must not count
    cells.store_trial(cell, "w", good(0, H3, 1.0))
    for number in range(1, 11):
        cells.store_trial(cell, "w", good(number, H2, 0.100 + number / 10_000))
        if number == 3:
            cells.store_trial(cell, "w", bad(number, H3, FailureKind.RESET))
        else:
            cells.store_trial(cell, "w", good(number, H3, 1.1 * (0.100 + number / 10_000)))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert square["n"] == 9
    assert square["diff_pct"] == pytest.approx(10.0)
    assert square["verdict"] == "h2 faster"
    assert square["ci_low_pct"] == pytest.approx(10.0)
    known = {"n": 10, "failures": 0, "median_ttlb_ms": 100.55, "failure_kinds": {}, "failure_rate": 0, "timed_out": 0}
    assert square["baseline"].items() >= known.items()
    assert square["candidate"]["failure_rate"] == pytest.approx(0.1)
    assert square["candidate"]["failure_kinds"] == {"reset": 1}
    assert square["proof"]["rtt_achieved_ms"] == pytest.approx(10.2)
    assert square["proof"]["probes_sent"] == 4
    assert square["state"] == "running"
    swapped = squares(api, campaign, baseline=H3, candidate=H2)[ENDPOINTS[0].id, "baseline"]
    assert swapped["diff_pct"] == pytest.approx(100 / 1.1 - 100)


@pytest.mark.parametrize(
    ("requested_ms", "achieved_ms", "proven"),
    [(10, 10.9, True), (10, 11.2, False), (10, 8.8, False), (200, 203.9, True), (200, 204.2, False), (0, 0.3, True)],
)
def test_link_out_of_tolerance(
    api: httpx.Client,
    campaign: str,
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    requested_ms: float,
    achieved_ms: float,
    proven: bool,
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof(requested_ms, achieved_ms))
    for number in range(8):
        cells.store_trial(cell, "w", good(number, H2, 0.10 + number / 10_000))
        cells.store_trial(cell, "w", good(number, H3, 0.08 + number / 10_000))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    if proven:
        assert (square["verdict"], square["unproven_reason"]) == ("h3 faster", None)
    else:
        assert square["verdict"] == "unproven"
        assert f"{achieved_ms:.2f} ms" in square["unproven_reason"]


def test_the_proof_says_rate_and_loss_of_both_directions_beside_what_was_requested(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    link = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]["proof"]["link"]
    assert (link["elapsed_ms"], link["repeats"]) == (250, 1)
    down, up = link["downlink"], link["uplink"]
    assert (down["rate_requested_mbit_s"], down["rate_achieved_mbit_s"], down["rate_not_judged"]) == (10, 9.98, None)
    assert (down["loss_requested_pct"], down["loss_achieved_pct"], down["datagrams_sent"]) == (1, 1.2, 1000)
    low, high = binomtest(12, 1000).proportion_ci(0.95, "exact")
    assert (down["loss_low_pct"], down["loss_high_pct"]) == pytest.approx((100 * low, 100 * high))
    assert (up["rate_achieved_mbit_s"], up["rate_not_judged"]) == (None, "no rate was requested")


def test_a_link_of_another_rate_than_requested_is_unproven(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof(rate_mbit_s=8.0))
    for client in (H2, H3):
        cells.store_trial(cell, "w", good(1, client))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert "downlink's rate was 8 Mbit/s where 10 Mbit/s" in square["unproven_reason"]


def test_bodies_and_handshakes_are_told_and_different_bodies_said(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    for number in range(3):
        cells.store_trial(cell, "w", good(number, H2))
        cells.store_trial(cell, "w", good(number, H3))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert (square["bodies"], square["bodies_differ"]) == ({H2: 1, H3: 1}, False)
    assert square["tls"] == {key: ["TLSv1.3 TLS_AES_128_GCM_SHA256 X25519"] for key in (H2, H3)}
    cells.store_trial(cell, "w", good(3, H3, body="cd"))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert (square["bodies"], square["bodies_differ"]) == ({H2: 1, H3: 2}, True)
    assert square["verdict"] != "unproven", "it is said, and no failure"
    trial = api.get(f"/campaigns/{campaign}/trials").json()["items"][-1]
    assert trial["body_sha256"] == "cd" * 32
    assert trial["tls"] == {
        "version": "TLSv1.3",
        "cipher": "TLS_AES_128_GCM_SHA256",
        "group": "X25519",
        "group_source": "client",
    }


def test_trials_without_a_proof_are_unproven(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    for number in range(3):
        cells.store_trial(cell, "w", good(number, H2))
        cells.store_trial(cell, "w", good(number, H3))
    assert squares(api, campaign)[ENDPOINTS[0].id, "baseline"]["verdict"] == "unproven"


def test_a_trial_out_of_tolerance_is_left_out_and_shown(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    reason = "CPU steal: the hypervisor took 9.0% of the CPUs' time"
    for number in range(1, 10):
        cells.store_trial(cell, "w", good(number, H2, 0.1))
        cells.store_trial(cell, "w", good(number, H3, 0.1) if number < 9 else good(number, H3, 5.0, reason))
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert (square["n"], square["candidate"]["n"], square["left_out"]) == (8, 8, 1)
    assert square["left_out_reasons"] == {"CPU steal": 1}
    assert square["proof"]["machine"]["rmem_default"] == 212992
    assert (square["proof"]["gate_waits"], square["proof"]["gate_calm"]) == (0, True)
    trials = api.get(f"/campaigns/{campaign}/trials").json()["items"]
    assert [t["unproven_reason"] for t in trials] == [None] * 17 + [reason]
    assert trials[0]["proof"]["downlink"]["offered_packets"] == 91
    assert trials[0]["proof"]["downlink"]["overflow_packets"] == 1
    assert trials[0]["proof"]["host"]["pressure_share"] == 0.25
    lines = api.get(f"/campaigns/{campaign}/trials.csv").text.splitlines()
    assert "unproven_reason" in lines[0].split(",")
    assert reason in lines[-1]


def fill(campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore) -> dict[str, list[float]]:
    """Ten rounds in the first cell, H3 with a slower handshake; TTLB as stored, by client."""
    cell = campaigns.dispatchable_cells(1, campaign)[0].cell_id
    cells.claim(cell, "w", 60)
    cells.store_proof(cell, "w", proof())
    draw = random.Random(1)  # noqa: S311 - noise
    times: dict[str, list[float]] = {H2: [], H3: []}
    for number in range(11):
        for client, mean_s in ((H2, 0.1), (H3, 0.13)):
            ttlb_s = mean_s * draw.lognormvariate(0, 0.05)
            cells.store_trial(cell, "w", good(number, client, ttlb_s))
            if number:
                times[client].append(ttlb_s)
    return times


def test_statistics_of_a_square_to_the_digit(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    times = fill(campaign, campaigns, cells)
    square = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert square["p_value"] == wilcoxon_p(times[H2], times[H3])
    assert square["q_value"] == square["p_value"], "the only cell that has been measured"
    assert square["spread_p"] == spread_p(times[H2], times[H3])
    for arm, client in (("baseline", H2), ("candidate", H3)):
        assert [(p["percent"], p["n"], p["value_ms"], p["ci_high_ms"]) for p in square[arm]["percentiles"]] == [
            (p.percent, 10, None if p.value is None else p.value * 1000, p.ci_high and p.ci_high * 1000)
            for p in percentiles(times[client])
        ]
    marks = [[PhaseTimes.of_marks(t / 4, t / 2, t) for t in times[client]] for client in (H2, H3)]
    assert square["phases"] == json.loads(json.dumps(dataclasses.asdict(decompose(*marks))))  # type: ignore[arg-type]
    assert square["phases"]["explains"] == "transfer"
    assert square["confidence"] == 0.95
    assert square["paper"] is None
    for other in [cell for key, cell in squares(api, campaign).items() if key != (ENDPOINTS[0].id, "baseline")]:
        assert (other["p_value"], other["q_value"], other["phases"]) == (None, None, None)


def test_unproven_squares_have_no_q(
    api: httpx.Client, campaign: str, campaigns: PostgresCampaignStore, cells: PostgresCellStore
) -> None:
    fill(campaign, campaigns, cells)
    before = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    cells.store_proof(before["cell_id"], "w", proof(10, 20))
    after = squares(api, campaign)[ENDPOINTS[0].id, "baseline"]
    assert (after["verdict"], after["p_value"], after["q_value"]) == ("unproven", before["p_value"], None)


@pytest.mark.parametrize(("mode", "function"), [("yu2020", papermodes.yu2020), ("yu2021", papermodes.yu2021)])
def test_modes_of_the_paper_to_the_digit(
    api: httpx.Client,
    campaign: str,
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    mode: papermodes.Mode,
    function: Callable[..., papermodes.PaperCell],
) -> None:
    times = fill(campaign, campaigns, cells)
    ours = api.get(f"/campaigns/{campaign}/heatmap").json()
    theirs = api.get(f"/campaigns/{campaign}/heatmap", params={"mode": mode}).json()
    assert (ours["mode"], ours["mode_note"], theirs["mode"]) == ("lastbyte", None, mode)
    assert "biased towards the side with more clients" in theirs["mode_note"]
    expected = function({H2: times[H2]}, {H3: times[H3]})
    square = squares(api, campaign, mode=mode)[ENDPOINTS[0].id, "baseline"]
    assert square["paper"] == {
        "value_pct": expected.value_pct,
        "label": expected.label,
        "h2_client": H2,
        "h3_client": H3,
        "p_value": expected.p_value,
        "limits_pct": list(expected.limits_pct),
    }
    assert expected.value_pct is not None
    assert expected.value_pct > 20
    assert square | {"paper": None} == squares(api, campaign)[ENDPOINTS[0].id, "baseline"], "ours stays beside it"
    empty = squares(api, campaign, mode=mode)[ENDPOINTS[1].id, "baseline"]["paper"]
    assert (empty["value_pct"], empty["label"]) == (None, None)


@pytest.mark.parametrize("mode", ["yu2020", "yu2021"])
def test_clients_are_compared_with_the_best_h3_client(
    api: httpx.Client,
    campaign: str,
    campaigns: PostgresCampaignStore,
    cells: PostgresCellStore,
    mode: papermodes.Mode,
) -> None:
    times = fill(campaign, campaigns, cells)
    found = api.get(f"/campaigns/{campaign}/clients-comparison", params={"mode": mode}).json()
    (expected,) = papermodes.client_comparison({H3: times[H3]}, mode).clients
    first, *others = [cell for provider in found["providers"] for cell in provider["cells"]]
    assert (found["mode"], found["clients"], found["limits_pct"]) == (mode, [H3], [0, 20])
    assert "flatters" in found["mode_note"]
    assert (first["endpoint"], first["best"]) == (ENDPOINTS[0].id, H3)
    assert first["clients"] == [
        {
            "client": H3,
            "n": 10,
            "value_pct": 0,
            "shown_pct": expected.shown_pct,
            "p_value": expected.p_value,
            "paired_n": None,
            "paired_pct": None,
            "ci_low_pct": None,
            "ci_high_pct": None,
            "confidence": None,
        }
    ]
    assert all((cell["best"], cell["clients"]) == (None, []) for cell in others)


@pytest.mark.parametrize("resource", ["heatmap", "clients-comparison"])
def test_a_bad_mode_is_a_problem_that_names_the_known_ones(api: httpx.Client, campaign: str, resource: str) -> None:
    answer = api.get(f"/campaigns/{campaign}/{resource}", params={"mode": "yu2019"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    (error,) = answer.json()["errors"]
    assert error["field"] == "mode"
    assert "yu2020" in error["message"]
    assert "yu2021" in error["message"]


def test_clients_of_no_campaign(api: httpx.Client) -> None:
    answer = api.get("/campaigns/00000000-0000-4000-8000-000000000000/clients-comparison")
    assert answer.status_code == 404
