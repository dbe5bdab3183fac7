"""Every error lastbyte raises on purpose.

LastbyteError
├── InvalidInput            something a person typed can't be used; names the field and how to mend it
│   └── UnknownName         a name that is not in the catalogue; lists what is
├── NotFound                a thing asked for by id is not there
├── Conflict                the request does not fit the state the thing is in
└── Unavailable             something this machine or network lacks
    ├── PathUnavailable     no box can be made here (no root, no TUN, no guest kernel, ...)
    ├── PathLost            a box that was up is gone; the trial on it is a failure, the path is rebuilt
    ├── ClientUnavailable   a client's program is not installed
    ├── ResolutionFailed    a host name has no address
    ├── StoreUnavailable    the database can't be reached now; the same call may work later
    └── QueueUnavailable    the broker can't be reached now

A failed measurement is not an error: it is a trial with a failure (see ``lastbyte.domain.trial``).
Errors know no HTTP status; only ``api`` maps them.
"""

from __future__ import annotations

from collections.abc import Sequence


class LastbyteError(Exception):
    """The root: one sentence a person can act on."""


class InvalidInput(LastbyteError):
    """Input that can't be used.

    ``field`` is the dotted name of what is wrong ("profiles.0.loss_pct"), ``remedy`` how to mend it.
    """

    def __init__(self, field: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{field}: {message}" + (f" {remedy}" if remedy else ""))
        self.field = field
        self.message = message
        self.remedy = remedy


class UnknownName(InvalidInput):
    """A name that is not in the catalogue."""

    def __init__(self, field: str, kind: str, name: str, known: Sequence[str]) -> None:
        listed = ", ".join(sorted(known)) or "none"
        super().__init__(field, f"there is no {kind} {name!r}.", f"Known: {listed}.")
        self.name = name


class NotFound(LastbyteError):
    """A thing asked for by its id is not there."""

    def __init__(self, kind: str, ident: str) -> None:
        super().__init__(f"There is no {kind} {ident}.")
        self.kind = kind
        self.ident = ident


class Conflict(LastbyteError):
    """The request does not fit the state that the thing is in."""


class Unavailable(LastbyteError):
    """Something that this machine or network lacks."""


class PathUnavailable(Unavailable):
    """No path can be made here; the message says what is missing and how to get it."""


class PathLost(Unavailable):
    """A path that was up is gone (its box died, its namespace vanished)."""


class ClientUnavailable(Unavailable):
    """A client's program is not installed."""


class ResolutionFailed(Unavailable):
    """A host name has no address."""


class StoreUnavailable(Unavailable):
    """The database can't be used now; nothing was changed, and the same call may work later."""


class QueueUnavailable(Unavailable):
    """The broker can't be reached now."""
