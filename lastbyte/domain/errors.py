"""Every error lastbyte raises on purpose.

LastbyteError
├── InvalidInput            something a person typed can't be used; names the field and how to mend it
│   └── UnknownName         a name that is not in the catalogue; lists what is
├── InvalidInputs           several of them at once
├── NotFound                a thing asked for by id is not there
├── Gone                    a file was there once, or is on another machine; says why
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

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar


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


class InvalidInputs(LastbyteError):
    """Several faults of one input, all at once."""

    def __init__(self, faults: Sequence[InvalidInput]) -> None:
        super().__init__(" ".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


F = TypeVar("F")


class Faults:
    """Collects what is wrong with one input, so that all of it is said at once."""

    def __init__(self) -> None:
        self._found: list[InvalidInput] = []

    def unless(self, make: Callable[[], F]) -> F | None:
        """What ``make`` gives; None when it finds a fault, which is kept."""
        try:
            return make()
        except InvalidInput as exc:
            self._found.append(exc)
            return None

    def put_first(self, faults: Iterable[InvalidInput]) -> None:
        """Keep these too, before all others."""
        self._found[:0] = faults

    def raise_all(self) -> None:
        """Raise InvalidInput for one fault, InvalidInputs for several, nothing for none."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise InvalidInputs(self._found)


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


class Gone(LastbyteError):
    """What was asked for is known, but not to be had (any more); the message says why."""


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


class AddressRefused(ResolutionFailed):
    """A host name leads to an address that is not measured, such as one inside of a network."""


class Forbidden(LastbyteError):
    """The caller's key does not allow this; ``field`` names what asked for it, where one did."""

    def __init__(self, message: str, field: str = "", remedy: str = "") -> None:
        super().__init__(f"{field}: {message} {remedy}".strip() if field else message)
        self.field = field
        self.message = message
        self.remedy = remedy


class StoreUnavailable(Unavailable):
    """The database can't be used now; nothing was changed, and the same call may work later."""


class QueueUnavailable(Unavailable):
    """The broker can't be reached now."""
