from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, select, text, update

from lastbyte.adapters.postgres.campaign_store import PostgresCampaignStore
from lastbyte.adapters.postgres.capsule_store import PostgresCapsuleStore
from lastbyte.adapters.postgres.catalogue import PostgresCatalogue
from lastbyte.adapters.postgres.models import ArtifactRow, TrialRow
from lastbyte.adapters.postgres.result_store import PostgresResultStore
from lastbyte.domain.errors import Conflict, InvalidInput, NotFound
from lastbyte.services import capsule as form
from lastbyte.services.capsule import open_capsule
from tests.integration.importers.states import heatmap_json, row_counts
from tests.integration.samples import CLIENTS, ENDPOINTS, PROFILES, plan

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def exported(engine: Engine, campaign_id: str, folder: Path) -> bytes:
    file = io.BytesIO()
    PostgresCapsuleStore(engine, folder / "artifacts").write(campaign_id, file, "lastbyte test")
    return file.getvalue()


def imported(engine: Engine, capsule: bytes, folder: Path) -> bool:
    opened = open_capsule(io.BytesIO(capsule), "it.capsule")
    return PostgresCapsuleStore(engine, folder / "artifacts elsewhere").store(opened, NOW)


def rebuilt(capsule: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """A capsule with changed members whose checksums fit again: what a skilled forger makes."""
    with zipfile.ZipFile(io.BytesIO(capsule)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    manifest = json.loads(members.pop(form.MANIFEST))
    members.pop(form.MANIFEST_SUM)
    for item in manifest["members"]:
        body = members[item["name"]]
        item["bytes"], item["sha256"] = len(body), hashlib.sha256(body).hexdigest()
    body = json.dumps(manifest).encode()
    members[form.MANIFEST] = body
    members[form.MANIFEST_SUM] = hashlib.sha256(body).hexdigest().encode()
    return zipped(members)


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return file.getvalue()


def members_of(capsule: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(capsule)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_number_comes_back_to_the_last_digit(
    engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path
) -> None:
    before = heatmap_json(engine, measured)
    assert any(cell["diff_pct"] for provider in before["providers"] for cell in provider["cells"])
    capsule = exported(engine, measured, tmp_path)
    assert imported(elsewhere, capsule, tmp_path)
    assert heatmap_json(elsewhere, measured) == before
    with engine.connect() as one, elsewhere.connect() as two:
        columns = [c for c in TrialRow.__table__.columns if c.name not in ("id", "cell_id", "client_build_id")]
        query = select(*columns).order_by(TrialRow.id)
        assert one.execute(query).all() == two.execute(query).all()
    trials = [
        [
            (item.endpoint_id, item.profile_name, item.trial, item.build)
            for item in PostgresResultStore(db).all_trials(measured)
        ]
        for db in (engine, elsewhere)
    ]
    assert trials[0] == trials[1]
    records = [PostgresCampaignStore(db).get(measured) for db in (engine, elsewhere)]
    assert records[0].spec == records[1].spec
    assert (records[0].created_at, records[0].finished_at) == (records[1].created_at, records[1].finished_at)
    assert records[0].source is None
    assert records[1].source is not None
    assert records[1].source["kind"] == "capsule"
    cells = [PostgresResultStore(db).cells(measured) for db in (engine, elsewhere)]
    assert [cell.proof for cell in cells[0]] == [cell.proof for cell in cells[1]]


def test_the_same_campaign_gives_the_same_bytes_here_and_there(
    engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path
) -> None:
    capsule = exported(engine, measured, tmp_path)
    assert exported(engine, measured, tmp_path) == capsule
    imported(elsewhere, capsule, tmp_path)
    assert exported(elsewhere, measured, tmp_path) == capsule


def test_a_second_import_changes_nothing(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    capsule = exported(engine, measured, tmp_path)
    assert imported(elsewhere, capsule, tmp_path)
    before = row_counts(elsewhere)
    assert not imported(elsewhere, capsule, tmp_path)
    assert not imported(engine, capsule, tmp_path)  # where it was measured
    assert row_counts(elsewhere) == before
    source = PostgresCampaignStore(engine).get(measured).source
    assert source is None


def test_another_campaign_with_its_id_is_not_touched(engine: Engine, measured: str, tmp_path: Path) -> None:
    capsule = exported(engine, measured, tmp_path)
    with engine.begin() as connection:
        connection.execute(update(TrialRow).where(TrialRow.outcome == "ok").values(elapsed_s=1.0))
    with pytest.raises(Conflict, match="differs"):
        imported(engine, capsule, tmp_path)


def test_only_what_is_over_is_exported(engine: Engine, tmp_path: Path) -> None:
    PostgresCatalogue(engine).sync(ENDPOINTS, PROFILES, CLIENTS)
    campaign_id = PostgresCampaignStore(engine).create(plan())
    with pytest.raises(Conflict, match="queued"):
        exported(engine, campaign_id, tmp_path)
    for unknown in ("nothing", "12345678-1234-1234-1234-123456789012"):
        with pytest.raises(NotFound):
            exported(engine, unknown, tmp_path)
    PostgresCampaignStore(engine).cancel(campaign_id)
    assert exported(engine, campaign_id, tmp_path)


def test_artifacts_travel_along(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    body = b"qlog" * 1000
    sha256 = hashlib.sha256(body).hexdigest()
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "trial.qlog").write_bytes(body)
    with engine.begin() as connection:
        trial_id = connection.execute(select(TrialRow.id).order_by(TrialRow.id).offset(5).limit(1)).scalar_one()
        connection.execute(
            insert(ArtifactRow),
            {
                "trial_id": trial_id, "kind": "qlog", "media_type": "application/qlog+json",
                "location": "trial.qlog", "byte_size": len(body), "sha256": sha256,
            },
        )  # fmt: skip
    capsule = exported(engine, measured, tmp_path)
    assert imported(elsewhere, capsule, tmp_path)
    assert (tmp_path / "artifacts elsewhere" / sha256).read_bytes() == body
    with elsewhere.connect() as connection:
        row = connection.execute(select(ArtifactRow.__table__)).one()
        assert (row.kind, row.sha256, row.byte_size) == ("qlog", sha256, len(body))


def test_any_cut_is_noticed(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    capsule = exported(engine, measured, tmp_path)
    before = row_counts(elsewhere)
    cuts = random.Random(1).sample(range(len(capsule)), 40)  # noqa: S311 - reproducible
    for length in [0, 1, 100, *cuts, len(capsule) - 1]:
        with pytest.raises(InvalidInput, match=r"it\.capsule"):
            imported(elsewhere, capsule[:length], tmp_path)
    assert row_counts(elsewhere) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update({"trials.jsonl": m["trials.jsonl"].replace(b'"ttlb_s":0', b'"ttlb_s":1', 1)}), "tampered"),
        (lambda m: m.update({"trials.jsonl": m["trials.jsonl"][:-200]}), "tampered"),
        (lambda m: m.pop("trials.jsonl"), "trials.jsonl is missing"),
        (lambda m: m.update({"more.txt": b"x"}), "more.txt is not in its manifest"),
        (lambda m: m.update({"manifest.json": m["manifest.json"].replace(b"to take", b"to fake")}), "tampered"),
        (lambda m: m.pop("manifest.sha256"), "manifest.sha256 is missing"),
        (lambda m: m.pop("manifest.json"), "is not a capsule"),
    ],
)  # fmt: skip
def test_tampering_is_noticed(
    engine: Engine,
    elsewhere: Engine,
    measured: str,
    tmp_path: Path,
    change: Callable[[dict[str, bytes]], object],
    said: str,
) -> None:
    members = members_of(exported(engine, measured, tmp_path))
    change(members)
    before = row_counts(elsewhere)
    with pytest.raises(InvalidInput, match=said):
        imported(elsewhere, zipped(members), tmp_path)
    assert row_counts(elsewhere) == before


def on_line(
    member: str, number: int, edit: Callable[[dict[str, object]], object]
) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        lines = members[member].splitlines(keepends=True)
        row = json.loads(lines[number])
        edit(row)
        lines[number] = json.dumps(row).encode() + b"\n"
        members[member] = b"".join(lines)

    return change


@pytest.mark.parametrize(
    ("member", "line", "edit", "said"),
    [
        ("trials.jsonl", 6, lambda r: r.update(ttlb_s="0.1"), "trials.jsonl line 7.*ttlb_s"),
        ("trials.jsonl", 6, lambda r: r.update(ttlb_s=None), "nothing was"),
        ("trials.jsonl", 6, lambda r: r.update(cell=99), "line 7.*cell 99"),
        ("trials.jsonl", 6, lambda r: r.update(build=-1), "line 7.*build -1"),
        ("trials.jsonl", 6, lambda r: r.update(outcome="lost"), "line 7.*outcome"),
        ("trials.jsonl", 6, lambda r: r.update(headers=[1]), "line 7.*headers"),
        ("trials.jsonl", 6, lambda r: r.update(proof={"downlink": 1}), "line 7.*downlink"),
        ("trials.jsonl", 6, lambda r: r.update(started_at="noon"), "line 7.*started_at"),
        ("trials.jsonl", 6, lambda r: r.update(round_index=2**40), "nothing was|out of range"),
        ("trials.jsonl", 6, lambda r: r.update(round_index=0, client_id="curl-quiche-h2"), "nothing was"),
        ("trials.jsonl", 6, lambda r: r.update(failure_detail="\x00", outcome="tls", ttlb_s=None), "nothing was"),
        ("trials.jsonl", 6, lambda r: r.update(from_the_future=1), "line 7.*from_the_future.*update"),
        ("trials.jsonl", 6, lambda r: r.pop("headers"), "line 7|nothing was"),
        ("cells.jsonl", 1, lambda r: r.update(endpoint={}), "cells.jsonl line 2"),
        ("cells.jsonl", 1, lambda r: r.update(profile={"name": 7}), "cells.jsonl line 2"),
        ("cells.jsonl", 1, lambda r: r.update(proof={}), "cells.jsonl line 2"),
        ("cells.jsonl", 1, lambda r: r.update(state="pending"), "cells.jsonl line 2.*not over"),
        ("campaign.json", 0, lambda r: r.update(state="running"), "not over"),
        ("campaign.json", 0, lambda r: r.update(id="12345678-1234-1234-1234-123456789012"), "not the campaign"),
        ("builds.jsonl", 0, lambda r: r.pop("sha256"), "builds.jsonl line 1"),
        ("arms.jsonl", 0, lambda r: r.update(client={}), "arms.jsonl"),
    ],
)  # fmt: skip
def test_a_capsule_that_can_not_be_used_leaves_nothing(
    engine: Engine,
    elsewhere: Engine,
    measured: str,
    tmp_path: Path,
    member: str,
    line: int,
    edit: Callable[[dict[str, object]], object],
    said: str,
) -> None:
    capsule = rebuilt(exported(engine, measured, tmp_path), on_line(member, line, edit))
    before = row_counts(elsewhere)
    with pytest.raises(InvalidInput, match=f"(?s){said}"):
        imported(elsewhere, capsule, tmp_path)
    assert row_counts(elsewhere) == before


def test_a_newer_format_is_refused(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    def newer(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[form.MANIFEST])
        manifest["version"] = 2
        members[form.MANIFEST] = json.dumps(manifest).encode()

    capsule = rebuilt(exported(engine, measured, tmp_path), newer)
    with pytest.raises(InvalidInput, match="version 2; this lastbyte reads up to 1"):
        imported(elsewhere, capsule, tmp_path)


def test_a_forger_who_mends_the_checksums_is_noticed_by_the_digest(
    engine: Engine, measured: str, tmp_path: Path
) -> None:
    capsule = exported(engine, measured, tmp_path)
    digest = open_capsule(io.BytesIO(capsule), "it.capsule").contents.digest
    forged = rebuilt(capsule, on_line("trials.jsonl", 6, lambda row: row.update(ttlb_s=9.9)))
    open_capsule(io.BytesIO(capsule), "it.capsule", digest)
    open_capsule(io.BytesIO(forged), "it.capsule")
    with pytest.raises(InvalidInput, match="not the one that you expect"):
        open_capsule(io.BytesIO(forged), "it.capsule", digest)


def test_a_lost_database_is_no_half_import(engine: Engine, elsewhere: Engine, measured: str, tmp_path: Path) -> None:
    capsule = exported(engine, measured, tmp_path)
    before = row_counts(elsewhere)
    with elsewhere.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN IF NEW.round_index = 6 THEN RAISE division_by_zero; END IF; RETURN NEW; END $$"
            )
        )
        connection.execute(text("CREATE TRIGGER fail BEFORE INSERT ON trials FOR EACH ROW EXECUTE FUNCTION fail()"))
    with pytest.raises(InvalidInput, match="nothing was"):
        imported(elsewhere, capsule, tmp_path)
    assert row_counts(elsewhere) == before
