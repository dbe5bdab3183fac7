"""The folder of artifacts: each file compressed, named by the digest of its bytes as they are kept.

A file gets its name only when it is whole and on the disk, and its row is stored after that; so there is never a row
without a file. A crash in between leaves a file without a row, which ``sweep`` removes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from lastbyte.domain.capture import Artifact, ArtifactKind, dropped
from lastbyte.domain.errors import Gone

MAX_FILE_BYTES = 128_000_000
"""Largest file that is taken in, before it is compressed."""
LEFT_OVER_AFTER_S = 3600.0
"""Age from which a file that no row names belongs to nobody."""
_INCOMING = "incoming"
_GZIP_LEVEL = 6
_CHUNK = 1 << 20
_PREFIX = 2


class ArtifactFiles:
    """``lastbyte.ports.ArtifactSink`` on a folder."""

    def __init__(self, folder: Path, max_bytes: int, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        """``max_bytes``: size of the folder from which on nothing more is taken in."""
        self.folder = folder
        self._max_bytes = max_bytes
        self._max_file_bytes = max_file_bytes

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """An empty folder for this user alone, gone with the block; raises OSError."""
        incoming = self.folder / _INCOMING
        self._make(incoming)
        made = Path(tempfile.mkdtemp(dir=incoming))
        self._share(made)
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def keep(self, kind: ArtifactKind, file_name: str, file: Path) -> Artifact:
        """Take the file in; with a reason in place of its bytes when they can't be kept."""
        try:
            raw_bytes = file.stat().st_size
            if raw_bytes > self._max_file_bytes:
                limit = f"{self._max_file_bytes / 1e6:g} MB"
                return dropped(kind, file_name, f"It has {raw_bytes / 1e6:.1f} MB, the limit is {limit}.", raw_bytes)
            if self.size_bytes() + raw_bytes > self._max_bytes:
                limit = f"{self._max_bytes / 1e9:g} GB"
                return dropped(kind, file_name, f"The folder of artifacts is full: its limit is {limit}.", raw_bytes)
            location, byte_size, sha256 = self._store(file)
        except OSError as exc:
            return dropped(kind, file_name, f"It can't be written: {exc.strerror or exc}.")
        return Artifact(kind, file_name, location, "gzip", byte_size, raw_bytes, sha256)

    def place_of(self, artifact: Artifact, vantage: str) -> Path:
        """The file as it is kept; raises Gone saying why there is none, or at which vantage it is."""
        if artifact.dropped_reason:
            raise Gone(f"{artifact.file_name} is not kept. {artifact.dropped_reason}")
        place = self._path(artifact.location)
        if not place.is_file():
            raise Gone(
                f"{artifact.file_name} is not on this machine. Workers keep captures on their own disk: at the vantage "
                f"{vantage!r} it is {artifact.location} in the folder of artifacts. How to fetch it: docs/vantages.md."
            )
        return place

    def open(self, artifact: Artifact, vantage: str) -> BinaryIO:
        """The file, decompressed while it is read; raises Gone."""
        place = self.place_of(artifact, vantage)
        return cast("BinaryIO", gzip.open(place)) if artifact.encoding == "gzip" else place.open("rb")

    def content(self, artifact: Artifact, vantage: str) -> bytes:
        """The bytes, decompressed; raises Gone saying why there are none."""
        try:
            with self.open(artifact, vantage) as stream:
                return stream.read()
        except (OSError, EOFError, zlib.error) as exc:
            raise Gone(f"{artifact.file_name} can't be read: {exc}.") from exc

    def size_bytes(self) -> int:
        """Bytes of all that is kept."""
        return sum(size for _, size, _ in self._files())

    def sweep(self, named: Collection[str], left_over_after_s: float = LEFT_OVER_AFTER_S) -> int:
        """Remove files that no row names, and what crashes left; young ones stay, their row may be on its way."""
        before = time.time() - left_over_after_s
        removed = 0
        for location, _, modified in list(self._files()):
            if location not in named and modified < before:
                self._path(location).unlink(missing_ok=True)
                removed += 1
        for made in (self.folder / _INCOMING).glob("*"):
            if made.stat().st_mtime < before:
                shutil.rmtree(made, ignore_errors=True)
        return removed

    def _store(self, file: Path) -> tuple[str, int, str]:
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".gz")
        partial = Path(name)
        with os.fdopen(handle, "wb") as target, file.open("rb") as source:
            # no time and no name inside: the same bytes always give the same digest
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, target, mtime=0) as packed:
                shutil.copyfileobj(source, packed, _CHUNK)
            target.flush()
            os.fsync(target.fileno())
        with partial.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        byte_size = partial.stat().st_size
        location = f"{sha256[:_PREFIX]}/{sha256}.gz"
        place = self._path(location)
        self._make(place.parent)
        self._share(partial)
        partial.replace(place)
        _sync(place.parent)
        return location, byte_size, sha256

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._share(folder)

    def _share(self, made: Path) -> None:
        """Open what was made to the group, where whoever set the folder up has given it to one (set-group-ID).

        So worker and API can be different users of one group, as in containers.
        """
        if self.folder.stat().st_mode & stat.S_ISGID:
            made.chmod(0o2770 if made.is_dir() else 0o640)

    def _files(self) -> Iterator[tuple[str, int, float]]:
        """Location, bytes and time of change of each file that is kept."""
        for folder in (self.folder, *self.folder.glob("?" * _PREFIX)):
            with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False):
                        found = entry.stat(follow_symlinks=False)
                        location = str(Path(entry.path).relative_to(self.folder))
                        yield location, found.st_size, found.st_mtime

    def _path(self, location: str) -> Path:
        return self.folder / location


class PlainFiles:
    """``lastbyte.ports.ArtifactSink`` on a folder of the user's own: files under their names, as they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """An empty folder that is gone with the block; raises OSError."""
        with tempfile.TemporaryDirectory(prefix="lastbyte-") as made:
            yield Path(made)

    def keep(self, kind: ArtifactKind, file_name: str, file: Path) -> Artifact:
        """Copy the file; with a reason in place of its bytes when that fails."""
        target = self._folder / file_name
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            with target.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            size = target.stat().st_size
        except OSError as exc:
            return dropped(kind, file_name, f"It can't be written: {exc.strerror or exc}.")
        return Artifact(kind, file_name, str(target), "", size, size, sha256)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
