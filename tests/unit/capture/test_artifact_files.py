"""The folder of artifacts: digests, limits, and a disk that fails."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest

from lastbyte.adapters import artifact_files
from lastbyte.adapters.artifact_files import ArtifactFiles
from lastbyte.domain.capture import Artifact, ArtifactKind


def keep(files: ArtifactFiles, content: bytes) -> Artifact:
    with files.workspace() as folder:
        (folder / "x").write_bytes(content)
        return files.keep(ArtifactKind.KEYLOG, "keys.txt", folder / "x")


def test_the_digest_is_of_the_bytes_as_kept_and_the_same_for_the_same_bytes(tmp_path: Path) -> None:
    files = ArtifactFiles(tmp_path / "kept", 10**6)
    one, two = keep(files, b"secret\n" * 100), keep(files, b"secret\n" * 100)
    assert one == two
    assert hashlib.sha256((files.folder / one.location).read_bytes()).hexdigest() == one.sha256
    assert one.raw_bytes == 700
    assert files.size_bytes() == one.byte_size
    assert (files.folder / one.location).stat().st_mode & 0o077 == 0
    assert not list((files.folder / "incoming").iterdir())


@pytest.mark.parametrize(
    ("max_bytes", "max_file_bytes", "words"),
    [(10**6, 100, "limit is 0.0001 MB"), (100, 10**6, "folder of artifacts is full")],
)
def test_what_is_too_large_is_dropped_with_a_reason(
    tmp_path: Path, max_bytes: int, max_file_bytes: int, words: str
) -> None:
    files = ArtifactFiles(tmp_path, max_bytes, max_file_bytes)
    left = keep(files, b"x" * 200)
    assert words in left.dropped_reason
    assert (left.location, left.byte_size, left.raw_bytes) == ("", 0, 200)
    assert files.size_bytes() == 0


def test_a_full_disk_is_a_reason_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    files = ArtifactFiles(tmp_path, 10**6)
    monkeypatch.setattr(artifact_files.os, "fsync", full)
    left = keep(files, b"x")
    assert left.dropped_reason == "It can't be written: No space left on device."
    assert files.size_bytes() == 0


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "subfolder_mode"), [(0o700, 0o600, 0o700), (0o2770, 0o640, 0o770)]
)
def test_what_is_kept_is_for_the_owner_or_for_the_group_that_the_folder_was_given_to(
    tmp_path: Path, folder_mode: int, file_mode: int, subfolder_mode: int
) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    folder.chmod(folder_mode)
    files = ArtifactFiles(folder, 10**9)
    with files.workspace() as made:
        (made / "a.pcap").write_bytes(b"packets")
        kept = files.keep(ArtifactKind.PCAP, "a.pcap", made / "a.pcap")
    place = folder / kept.location
    assert place.stat().st_mode & 0o777 == file_mode
    assert place.parent.stat().st_mode & 0o777 == subfolder_mode
