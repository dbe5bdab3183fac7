"""From a posted campaign to heatmap squares, with every part real."""

from __future__ import annotations

import math
import statistics

import pytest
import redis

from lastbyte.embedded.valkey import Valkey
from lastbyte.stats.paired import compare
from testbed.catalogue import DIGESTS
from tests.stack import Stack

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"
ROUNDS = 6


@pytest.fixture(scope="module")
def campaign(stack: Stack) -> str:
    created = stack.post(
        name="straight line",
        endpoints=["testbed-caddy-100KB", "testbed-haproxy-100KB"],
        profiles=["baseline", "delay-50"],
        clients=["curl-quiche", "curl-ngtcp2"],
        rounds=ROUNDS,
        seed=1,
    )
    assert created["trials_planned"] == 2 * 2 * 3 * (ROUNDS + 1)
    ended = stack.wait_done(created["id"], 240)
    assert ended["state"] == "done"
    assert ended["trials_done"] == ended["trials_planned"]
    assert ended["trials_failed"] == 0
    ident: str = created["id"]
    return ident


def test_every_planned_trial_is_stored_once_with_its_proof(stack: Stack, campaign: str) -> None:
    trials = stack.trials(campaign)
    keys = {(t["cell_id"], t["round"], t["client"]) for t in trials}
    assert len(trials) == len(keys) == 2 * 2 * 3 * (ROUNDS + 1)
    for trial in trials:
        assert trial["http_version"] == ("2" if trial["client"] == H2 else "3")
        assert trial["body_bytes"] == 100_000
        assert trial["http_status"] == 200
        assert trial["remote_address"].startswith("10.200.")
        assert trial["proof"]["downlink"]["sent_bytes"] > 100_000, "the transfer did not cross the box"
        assert len(trial["client_sha256"]) == 64
        assert trial["body_sha256"] == DIGESTS["100KB"]
        assert trial["tls"]["version"] == "TLSv1.3"
        assert 0 < trial["handshake_ms"] < trial["ttfb_ms"] <= trial["ttlb_ms"]


def test_handshakes_take_two_round_trips_over_h2_and_one_over_h3(stack: Stack, campaign: str) -> None:
    """RFC 8446 over RFC 9293: TCP's and TLS's; RFC 9000: both in one. Base RTT plus the profile's 50 ms."""
    for endpoint, rtt_ms in (("testbed-caddy-100KB", 60), ("testbed-haproxy-100KB", 90)):
        for client, round_trips in ((H2, 2), (H3, 1), ("curl-ngtcp2-h3", 1)):
            trials = stack.trials(campaign, endpoint=endpoint, profile="delay-50", client=client)
            handshake_ms = statistics.median(t["handshake_ms"] for t in trials)
            assert handshake_ms == pytest.approx(round_trips * rtt_ms, abs=15), (endpoint, client)


def test_arms_take_turns_within_rounds(stack: Stack, campaign: str) -> None:
    cell = stack.trials(campaign, endpoint="testbed-caddy-100KB", profile="baseline")
    by_time = sorted(cell, key=lambda t: t["started_at"])
    assert [t["round"] for t in by_time] == sorted(t["round"] for t in by_time), "rounds overlapped"
    assert len({t["client"] for t in by_time if t["position"] == 0}) > 1, "one client always went first"
    assert [t["warmup"] for t in by_time] == [True] * 3 + [False] * (len(by_time) - 3)


def test_the_heatmap_is_made_of_the_stored_trials_and_nothing_else(stack: Stack, campaign: str) -> None:
    heatmap = stack.heatmap(campaign, baseline=H2, candidate=H3)
    cells = [(p, c) for p in heatmap["providers"] for c in p["cells"]]
    assert len(cells) == 4
    for provider, cell in cells:
        assert provider["provider"].startswith("testbed-")
        assert provider["origin"] == "testbed"
        ttlb = {
            client: {
                t["round"]: t["ttlb_ms"] / 1000
                for t in stack.trials(campaign, endpoint=cell["endpoint"], profile=cell["profile"], client=client)
                if not t["warmup"] and not t["unproven_reason"]  # as a busy machine may make them
            }
            for client in (H2, H3)
        }
        rounds = sorted(ttlb[H2].keys() & ttlb[H3].keys())
        expected = compare([ttlb[H2][r] for r in rounds], [ttlb[H3][r] for r in rounds])
        assert cell["n"] == len(rounds) >= ROUNDS - 2
        assert expected.diff_pct is not None
        assert math.isclose(cell["diff_pct"], expected.diff_pct, abs_tol=0.01)
        assert cell["ci_low_pct"] <= cell["diff_pct"] <= cell["ci_high_pct"]
        assert cell["baseline"]["median_ttlb_ms"] == pytest.approx(statistics.median(ttlb[H2].values()) * 1000)
        assert cell["proof"]["rtt_achieved_ms"] >= provider["base_rtt_ms"]


def test_h3_saves_its_round_trip_where_the_object_is_small_and_the_path_is_long(stack: Stack, campaign: str) -> None:
    heatmap = stack.heatmap(campaign, baseline=H2, candidate=H3)
    cells = {c["endpoint"]: c for p in heatmap["providers"] for c in p["cells"] if c["profile"] == "delay-50"}
    assert cells["testbed-caddy-100KB"]["diff_pct"] < -10


def test_no_worker_and_no_beat_waits_for_a_broadcast(stack: Stack, campaign: str) -> None:
    """Such a wait has no limit: once its connection was lost, the process would never take a cell again."""
    broker = redis.Redis(unix_socket_path=str(Valkey.under(stack.var).socket))
    clients = broker.client_list()
    broker.close()
    assert any(client["cmd"] == "brpop" for client in clients), "somebody waits for cells"
    assert [client["cmd"] for client in clients if client["sub"] != "0" or client["psub"] != "0"] == []
