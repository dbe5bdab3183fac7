r"""Capsules: a whole campaign in one file that reproduces every number elsewhere.

A capsule is a ZIP archive (APPNOTE.TXT) of JSON lines::

    manifest.json      format, version, what is inside, SHA-256 and size of every other member
    manifest.sha256    SHA-256 of manifest.json: the digest of the whole capsule
    campaign.json      spec, seed, state, times
    arms.jsonl         clients as frozen when the campaign was planned
    cells.jsonl        endpoints and profiles as frozen, proofs of the links
    builds.jsonl       the exact programs that ran
    trials.jsonl       every trial with its proof, in the order they were stored
    artifacts.jsonl    files that trials left; their bytes are in artifacts/<sha256>

Numbers are written so that they read back as the same bits (Python's ``repr`` of a float, the shortest text that does).
Nothing in it depends on when or where it was written: the same campaign gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

from lastbyte.domain.errors import InvalidInput

FORMAT = "lastbyte-capsule"
VERSION = 1

MANIFEST = "manifest.json"
MANIFEST_SUM = "manifest.sha256"
CAMPAIGN = "campaign.json"
ARMS, CELLS, BUILDS, TRIALS, ARTIFACTS = "arms.jsonl", "cells.jsonl", "builds.jsonl", "trials.jsonl", "artifacts.jsonl"
REQUIRED = (CAMPAIGN, ARMS, CELLS, BUILDS, TRIALS, ARTIFACTS)
BLOBS = "artifacts/"

MAX_MANIFEST_BYTES = 64 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_BYTES = 64 * 1024**3
"""Unpacked size above which a capsule is refused: it would be an attack, not a campaign."""

_CHUNK = 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
)
"""What zipfile is known to raise for damaged, encrypted or exotic archives."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file within a capsule, as it is written."""

    name: str
    chunks: Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a capsule holds, from its manifest."""

    digest: str
    """SHA-256 of the manifest, which names the digest of everything else."""
    version: int
    written_by: str
    campaign_id: str
    name: str
    state: str
    lines: Mapping[str, int]
    """Member -> its lines."""
    byte_size: int
    """Of all members, unpacked."""
    artifacts: tuple[str, ...]
    """SHA-256 of the artifacts in it."""


def json_line(document: Mapping[str, Any]) -> bytes:
    """One line of JSON, keys in their order, floats by ``repr``; raises ValueError for NaN and infinities."""
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n").encode()


def write_capsule(file: IO[bytes], campaign: Mapping[str, Any], members: Iterable[Member], written_by: str) -> str:
    """Write a capsule; gives its digest. ``members`` are all but the campaign and the manifest, streamed."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        listed = [_write(archive, Member(CAMPAIGN, [json_line(campaign)]))]
        listed.extend(_write(archive, member) for member in members)
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": written_by,
            "campaign": {key: campaign[key] for key in ("id", "name", "state")},
            "members": listed,
        }
        text = (json.dumps(manifest, ensure_ascii=False, indent=1) + "\n").encode()
        digest = hashlib.sha256(text).hexdigest()
        _write(archive, Member(MANIFEST, [text]))
        _write(archive, Member(MANIFEST_SUM, [f"{digest}  {MANIFEST}\n".encode()]))
    return digest


class Capsule:
    """A capsule that was verified: every member is there, whole and unchanged. Made by ``open_capsule``."""

    def __init__(self, archive: zipfile.ZipFile, name: str, contents: Contents) -> None:
        self._archive = archive
        self.name = name
        self.contents = contents

    def rows(self, member: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(place, row) for each line of a member; raises InvalidInput naming the line."""
        with self._archive.open(member) as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES):
                number += 1
                place = f"{member} line {number}"
                yield place, _row(line, f"{self.name}: {place}")

    def artifact(self, sha256: str) -> Iterator[bytes]:
        """The bytes of an artifact."""
        with self._archive.open(BLOBS + sha256) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk


def open_capsule(file: IO[bytes], name: str, expected_digest: str | None = None) -> Capsule:
    """Verify a capsule. Raises InvalidInput saying what is wrong: no capsule, truncated, tampered, newer.

    ``expected_digest``: what the person who wrote it says its digest is; without it a capsule that was rewritten with
    new checksums can't be told from an original.
    """
    try:
        archive = zipfile.ZipFile(file)
        manifest, digest = _manifest(archive, name)
        if expected_digest is not None and expected_digest.lower() != digest:
            raise InvalidInput(name, f"has digest {digest}, not {expected_digest}: it is not the one that you expect.")
        members = _members(manifest, name)
        _verify(archive, name, members)
        return Capsule(archive, name, _contents(manifest, digest, members, name))
    except _BROKEN as exc:
        raise InvalidInput(name, f"is not a capsule, or is truncated or damaged: {exc}.") from exc


def _write(archive: zipfile.ZipFile, member: Member) -> dict[str, Any]:
    info = zipfile.ZipInfo(member.name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    digest, size, lines = hashlib.sha256(), 0, 0
    with archive.open(info, "w", force_zip64=True) as stream:
        for chunk in member.chunks:
            digest.update(chunk)
            size += len(chunk)
            lines += chunk.count(b"\n")
            stream.write(chunk)
    listed: dict[str, Any] = {"name": member.name, "bytes": size, "sha256": digest.hexdigest()}
    return listed if member.name.startswith(BLOBS) else {**listed, "lines": lines}


def _manifest(archive: zipfile.ZipFile, name: str) -> tuple[dict[str, Any], str]:
    names = archive.namelist()
    if MANIFEST not in names:
        raise InvalidInput(name, f"is not a capsule: it holds no {MANIFEST}.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in archive.infolist()):
        raise InvalidInput(name, "was tampered with: it holds a member in a compression that capsules do not use.")
    if len(set(names)) != len(names):
        raise InvalidInput(name, "was tampered with: it holds two members of one name.")
    if archive.getinfo(MANIFEST).file_size > MAX_MANIFEST_BYTES:
        raise InvalidInput(name, f"has a {MANIFEST} that is far too large.")
    text = archive.read(MANIFEST)
    digest = hashlib.sha256(text).hexdigest()
    if MANIFEST_SUM not in names:
        raise InvalidInput(name, f"was tampered with: {MANIFEST_SUM} is missing.")
    with archive.open(MANIFEST_SUM) as stream:
        said = stream.read(200).decode("ascii", "replace").split(maxsplit=1)
    if not said or said[0] != digest:
        raise InvalidInput(name, f"was tampered with: {MANIFEST} does not have the digest that {MANIFEST_SUM} says.")
    manifest = _row(text, f"{name}: {MANIFEST}")
    if manifest.get("format") != FORMAT:
        raise InvalidInput(name, f"is not a capsule: its format is {manifest.get('format')!r}.")
    version = manifest.get("version")
    if not isinstance(version, int) or version < 1:
        raise InvalidInput(name, f"has no usable format version: {version!r}.")
    if version > VERSION:
        raise InvalidInput(
            name, f"is of format version {version}; this lastbyte reads up to {VERSION}.", "Update lastbyte."
        )
    return manifest, digest


def _members(manifest: Mapping[str, Any], name: str) -> list[tuple[str, int, str]]:
    found = []
    listed = manifest.get("members")
    for item in listed if isinstance(listed, list) else []:
        if not isinstance(item, dict):
            raise InvalidInput(name, f"has a {MANIFEST} with a member that is no object.")
        member, size, sha256 = item.get("name"), item.get("bytes"), item.get("sha256")
        if not isinstance(member, str) or not isinstance(size, int) or not isinstance(sha256, str) or size < 0:
            raise InvalidInput(name, f"has a {MANIFEST} with a member without name, size or digest.")
        found.append((member, size, sha256))
    missing = [member for member in REQUIRED if member not in {name for name, _, _ in found}]
    if missing:
        raise InvalidInput(name, f"is not whole: {', '.join(missing)} is missing in its {MANIFEST}.")
    if sum(size for _, size, _ in found) > MAX_BYTES:
        raise InvalidInput(name, f"would unpack to more than {MAX_BYTES} bytes.")
    return found


def _verify(archive: zipfile.ZipFile, name: str, members: Iterable[tuple[str, int, str]]) -> None:
    there = set(archive.namelist()) - {MANIFEST, MANIFEST_SUM}
    for member, size, sha256 in members:
        if member not in there:
            raise InvalidInput(name, f"is not whole: {member} is missing.")
        there.remove(member)
        if archive.getinfo(member).file_size != size:
            raise InvalidInput(name, f"was tampered with: {member} is not {size} bytes long.")
        with archive.open(member) as stream:
            if _sha256(stream) != sha256:
                raise InvalidInput(name, f"was tampered with: {member} does not have the digest of the manifest.")
        if member.startswith(BLOBS) and member != BLOBS + sha256:
            raise InvalidInput(name, f"was tampered with: {member} is not named by its digest.")
    if there:
        raise InvalidInput(name, f"was tampered with: {', '.join(sorted(there))} is not in its manifest.")


def _contents(manifest: Mapping[str, Any], digest: str, members: Iterable[tuple[str, int, str]], name: str) -> Contents:
    campaign = manifest.get("campaign")
    if not isinstance(campaign, dict) or not all(isinstance(campaign.get(k), str) for k in ("id", "name", "state")):
        raise InvalidInput(name, f"has a {MANIFEST} that does not name its campaign.")
    members = list(members)
    return Contents(
        digest=digest,
        version=manifest["version"],
        written_by=str(manifest.get("written_by", "")),
        campaign_id=campaign["id"],
        name=campaign["name"],
        state=campaign["state"],
        lines={item["name"]: item["lines"] for item in manifest["members"] if isinstance(item.get("lines"), int)},
        byte_size=sum(size for _, size, _ in members),
        artifacts=tuple(sha256 for member, _, sha256 in members if member.startswith(BLOBS)),
    )


def _sha256(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(where, f"is not JSON: {exc}.") from exc
    if not isinstance(row, dict):
        raise InvalidInput(where, "is not a JSON object.")
    return row
