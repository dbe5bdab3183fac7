from __future__ import annotations

from typing import Any

import httpx
import pytest

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.cell_store import PostgresCellStore
from lastbyte.domain.trial import FailureKind
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
