from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lastbyte.domain.campaign import CampaignSpec, CampaignState
from lastbyte.ports import CampaignRecord, Progress
from lastbyte.services.campaigns import eta_s


def campaign(state: CampaignState, done: int, busy_s: float, running: int) -> CampaignRecord:
    spec = CampaignSpec("n", ("e",), ("p",), ("c",), 9, 1)
    progress = Progress(1, 0, 100, done, 0, busy_s, running)
    return CampaignRecord("id", spec, state, datetime.now(UTC), None, None, progress)


@pytest.mark.parametrize(
    ("state", "done", "busy_s", "running", "expected"),
    [
        (CampaignState.QUEUED, 0, 0.0, 0, None),
        (CampaignState.RUNNING, 0, 3.0, 1, None),
        (CampaignState.RUNNING, 20, 10.0, 1, 40.0),
        (CampaignState.RUNNING, 20, 10.0, 4, 10.0),
        (CampaignState.RUNNING, 20, 10.0, 0, 40.0),
        (CampaignState.RUNNING, 100, 50.0, 1, 0.0),
        (CampaignState.DONE, 100, 50.0, 0, 0.0),
        (CampaignState.CANCELLED, 20, 10.0, 0, None),
    ],
)
def test_eta(state: CampaignState, done: int, busy_s: float, running: int, expected: float | None) -> None:
    assert eta_s(campaign(state, done, busy_s, running)) == expected
