"""One door to all readers: what a folder or file holds is told from its names and first line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lastbyte.adapters.importers import sockets, timings, trial_csv, trial_lines
from lastbyte.adapters.importers.files import Unreadable, folders, read_text
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.profile import Profile
from lastbyte.services.imported import ImportedResults

KNOWN_SHAPES = (
    "Known: a folder of timings (loss-0dot1_delay-0_bw-10/facebook/100KB/chrome_h3.json), a folder of socket samples"
    " (samples_threshold5_dev2_delay0/quic/remote/...), and lastbyte's own trials as .csv or .jsonl."
)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a user may say about foreign results, and what this machine knows."""

    protocols: Mapping[str, Protocol] = field(default_factory=dict)
    """Client -> protocol, where its name does not tell."""
    unit: str | None = None
    """``ms``, ``s`` or ``us`` of timings; None: milliseconds, held against plausibility."""
    endpoints: Sequence[Endpoint] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    clients: Sequence[Client] = ()


def read_results(path: Path, options: ReadOptions) -> ImportedResults:
    """The results at ``path``, bad places listed in them; raises InvalidInput when nothing there can be used."""
    try:
        if path.is_dir():
            return _read_folder(path, options)
        if path.is_file():
            return _read_file(path, options)
    except Unreadable as exc:
        raise InvalidInput(str(path), f"{exc.place}: {exc.reason}" if exc.place else exc.reason) from exc
    except OSError as exc:
        raise InvalidInput(str(path), f"can't be read: {exc.strerror}.") from exc
    raise InvalidInput(str(path), "is not there.", "Give a folder or a file of results.")


def _read_folder(folder: Path, options: ReadOptions) -> ImportedResults:
    names = [folder.resolve().name, *(child.name for child in folders(folder))]
    if any(sockets.is_samples(name) for name in names):
        return sockets.read_sockets(folder)
    if any(timings.is_network(name) for name in names):
        return timings.read_timings(folder, options.protocols, options.unit)
    raise Unreadable("", f"holds no results that can be told by their folder names. {KNOWN_SHAPES}")


def _read_file(file: Path, options: ReadOptions) -> ImportedResults:
    if file.suffix == ".csv":
        return trial_csv.read_rows(read_text(file), str(file), options.endpoints, options.profiles, options.clients)
    if file.suffix in (".jsonl", ".ndjson"):
        try:
            with file.open(encoding="utf-8", newline="\n") as lines:
                return trial_lines.read_lines(lines, str(file))
        except UnicodeDecodeError as exc:
            raise Unreadable(f"byte {exc.start}", "is not UTF-8 text.") from exc
    raise Unreadable("", f"has an unknown ending. {KNOWN_SHAPES}")
