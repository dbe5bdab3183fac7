from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.importers.files import Unreadable
from lastbyte.adapters.importers.trial_csv import read_rows, write_rows
from lastbyte.adapters.importers.trial_lines import read_lines, write_lines
from lastbyte.domain.campaign import CampaignSpec, CampaignState, CellState
from lastbyte.domain.trial import Trial
from lastbyte.ports import CampaignRecord, CellRecord, Progress, TrialRecord
from lastbyte.services.imported import OnError, accept
from lastbyte.services.replay import paired_mode, replay
from tests.integration.samples import BUILD, CLIENTS, ENDPOINTS, H2, H3, PROFILES, good, proof

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SPEC = CampaignSpec("made", (ENDPOINTS[0].id,), (PROFILES[0].name,), (H2, H3), rounds=7, seed=1)
CAMPAIGN = CampaignRecord("made", SPEC, CampaignState.DONE, NOW, NOW, NOW, Progress(1, 1, 16, 16, 0, 1.0, 0))


def made_at_once(number: int, client: str, ttlb_s: float) -> Trial:
    trial = good(number, client, ttlb_s)
    return replace(trial, observation=replace(trial.observation, started_at=NOW))


def records() -> list[TrialRecord]:
    trials = [made_at_once(number, client, 0.1 + number / 7) for number in range(8) for client in (H2, H3)]
    return [
        TrialRecord(place, 5, ENDPOINTS[0].id, PROFILES[0].name, trial, BUILD) for place, trial in enumerate(trials)
    ]


def lines(achieved_ms: float = 10.2) -> list[str]:
    cell = CellRecord(5, ENDPOINTS[0], PROFILES[0], CellState.DONE, proof(achieved_ms=achieved_ms))
    return list(write_lines(CAMPAIGN, CLIENTS, [cell], records()))


def test_what_was_written_is_read() -> None:
    results = accept(read_lines(lines(), "it.jsonl"), OnError.REFUSE)
    (cell,) = results.cells
    assert list(cell.trials) == [record.trial for record in records()]
    assert cell.proof is not None
    assert cell.proof.builds == {H2: BUILD, H3: BUILD}
    assert (results.rounds, results.seed) == (7, 1)


def test_a_link_out_of_tolerance_stays_unproven() -> None:
    for achieved_ms, verdict in ((10.2, "equivalent"), (19.0, "unproven")):
        results = read_lines(lines(achieved_ms), "it.jsonl")
        ((item,),) = (provider.cells for provider in replay(results, paired_mode(results)).providers)
        assert item.square.verdict == verdict


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.integers(0, 17), st.data())
def test_any_value_anywhere_is_read_or_refused_with_a_reason(number: int, data: st.DataObject) -> None:
    written = lines()
    row = json.loads(written[number])
    parent, key = row, data.draw(st.sampled_from(sorted(row)))
    while isinstance(parent[key], dict) and parent[key] and data.draw(st.booleans()):
        parent = parent[key]
        key = data.draw(st.sampled_from(sorted(parent)))
    parent[key] = data.draw(json_values)
    written[number] = json.dumps(row) + "\n"
    try:
        said = [place.reason for place in read_lines(written, "it.jsonl").bad]
    except Unreadable as exc:
        said = [exc.reason]
    assert all(reason.strip() for reason in said)


@given(st.text(max_size=60), st.integers(1, 16), st.integers(0, 22))
def test_any_field_of_a_csv_is_read_or_refused_with_a_reason(text: str, number: int, field: int) -> None:
    rows = "".join(write_rows(records())).splitlines()
    fields = rows[number].split(",")
    fields[field] = text
    rows[number] = ",".join(fields)
    profiles = {profile.name: profile for profile in PROFILES}
    try:
        read = read_rows("\r\n".join(rows) + "\r\n", "it.csv", ENDPOINTS, profiles, CLIENTS)
        said = [place.reason for place in read.bad]
    except Unreadable as exc:
        said = [exc.reason]
    assert all(reason.strip() for reason in said)
