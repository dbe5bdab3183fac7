"""What ``lastbyte measure`` says of one cell."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import pytest
from rich.console import Console

from lastbyte.cli.report import document, dumps, print_tables
from lastbyte.domain.trial import Failure, FailureKind, Observation, Timings, Trial
from lastbyte.ports import CellProof, RttProbe
from lastbyte.services.one_shot import CellResult, OneShot
from lastbyte.stats.phases import PhaseTimes, decompose
from lastbyte.stats.significance import wilcoxon_p
from tests.fakes.measuring import ENDPOINT, H2, H3, PROFILE

ROUNDS = 8


def trial(number: int, client: str, marks: tuple[float | None, float | None, float] | None) -> Trial:
    if marks is None:
        failure = Failure(FailureKind.TIMEOUT, "60 s")
        return Trial(number, client, 0, Observation(datetime.now(UTC), None, failure, 28, elapsed_s=60.0))
    return Trial(number, client, 0, Observation(datetime.now(UTC), Timings(*marks), None, 0, 200))


def result(extra_s: float, *, phases: bool = True) -> tuple[OneShot, CellResult]:
    trials = []
    for number in range(ROUNDS + 1):
        drift = number / 1000
        for client, later in ((H2.id, 0.0), (H3.id, extra_s + drift / 10)):
            handshake_s, ttfb_s = (0.1 + later, 0.2 + later) if phases else (None, None)
            trials.append(trial(number, client, (handshake_s, ttfb_s, 1.0 + drift + later)))
    proof = CellProof("fake", "192.0.2.1", 0.0, RttProbe(60.0, (60.0,)))
    job = OneShot(ENDPOINT, (PROFILE,), (H2, H3), ROUNDS, 1)
    return job, CellResult(PROFILE, (H2, H3), proof, trials)


def said(job: OneShot, found: CellResult) -> str:
    out = io.StringIO()
    print_tables(Console(file=out, width=80), job, [found])
    return out.getvalue()


def test_the_footer_says_which_phase_explains_the_difference() -> None:
    assert "explained by the handshake: +50.5 of +50.5 ms" in said(*result(0.05))


def test_where_nothing_differs_no_phase_explains_it() -> None:
    job, found = result(0.0)
    found.trials[:] = [trial(n, arm, (0.1, 0.2, 1.0 + n / 1000)) for n in range(9) for arm in (H2.id, H3.id)]
    assert "no single phase explains it: the handshake +0.0" in said(job, found)


def test_a_client_that_reports_no_phases_is_not_explained() -> None:
    assert "explain" not in said(*result(0.05, phases=False))


def test_the_document_has_p_and_phases_to_the_digit() -> None:
    job, found = result(0.05)
    text = dumps(document(job, [found], datetime.now(UTC), interrupted=False))
    against = json.loads(text)["profiles"][0]["arms"][H3.id]["against_baseline"]
    base, cand = (list(found.ttlb_s(client).values()) for client in (H2.id, H3.id))
    assert against["p_value"] == wilcoxon_p(base, cand)
    expected = decompose(
        [PhaseTimes.of_marks(0.1, 0.2, time_s) for time_s in base],
        [
            PhaseTimes.of_marks(0.1 + later, 0.2 + later, time_s)
            for later, time_s in ((0.05 + number / 10_000, time_s) for number, time_s in enumerate(cand, start=1))
        ],
    )
    assert expected is not None
    assert against["phases"]["explains"] == "handshake"
    assert against["phases"]["total"]["diff_ms"] == expected.total.diff_ms
    assert [part["diff_ms"] for part in against["phases"]["phases"]] == [part.diff_ms for part in expected.phases]
    assert against["verdict"] == "h2 faster"


def test_time_outs_enter_p() -> None:
    _job, found = result(0.05)
    found.trials[-1] = trial(ROUNDS, H3.id, None)
    assert found.p_value(H2.id, H3.id) == pytest.approx(2 / 2**ROUNDS)
    found.trials[:] = [trial(n, client, None) for n in range(ROUNDS + 1) for client in (H2.id, H3.id)]
    assert found.p_value(H2.id, H3.id) is None
    assert found.against(H2.id, H3.id).verdict == "no data"
