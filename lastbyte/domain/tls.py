"""What client and server agreed on in a TLS handshake, and the key exchange groups that a campaign may pin."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lastbyte.domain.errors import InvalidInput

TLS_GROUPS = ("X25519MLKEM768", "X25519", "P-256", "P-384", "P-521")
"""Groups that can be pinned, as curl's ``--curves`` takes them with OpenSSL and with BoringSSL."""

_OTHER_NAMES = {"secp256r1": "P-256", "prime256v1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}


class GroupSource(enum.StrEnum):
    """How the group of a handshake is known."""

    UNKNOWN = "unknown"
    CLIENT = "client"
    """The client said its name."""
    SERVER_HELLO = "server-hello"
    """By the length of the server's key share, which is another one for each group that is in use; in watched trials
    over QUIC by what the hello says."""
    SERVER = "server"
    """The server said its name in a response header, as some of the testbed's do."""
    PINNED = "pinned"
    """No other was offered."""


@dataclass(frozen=True, slots=True)
class TlsDetails:
    """What one connection agreed on; None where it can't be known."""

    version: str | None = None
    """``TLSv1.3``."""
    cipher: str | None = None
    """Name of the cipher suite, as IANA lists it."""
    group: str | None = None
    """Key exchange group, by its name in ``TLS_GROUPS`` where it is one of them."""
    group_source: GroupSource = GroupSource.UNKNOWN

    @property
    def summary(self) -> str:
        """All three in a line; ``?`` for what is not known."""
        return " ".join(part or "?" for part in (self.version, self.cipher, self.group))


def group_name(said: str) -> str:
    """One name for a group, whatever a TLS library calls it."""
    known = {name.casefold(): name for name in TLS_GROUPS}
    return known.get(said.casefold()) or _OTHER_NAMES.get(said.casefold(), said)


def check_groups(groups: Sequence[str], field: str = "tls_groups") -> None:
    """Raise InvalidInput unless each is a group that can be pinned, named once."""
    for fault in group_faults(groups, field):
        raise fault


def group_faults(groups: Sequence[str], field: str = "tls_groups") -> Iterator[InvalidInput]:
    """What is wrong with groups that someone wants pinned."""
    for index, group in enumerate(groups):
        if group not in TLS_GROUPS:
            yield InvalidInput(f"{field}.{index}", f"there is no group {group!r}.", f"Known: {', '.join(TLS_GROUPS)}.")
    if len(set(groups)) != len(groups):
        yield InvalidInput(field, "names a group twice.", "Name each once, the preferred one first.")
