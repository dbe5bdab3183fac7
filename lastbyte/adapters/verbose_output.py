"""What curl says with ``--verbose``: which lines are its own, and what the TLS handshake agreed on. Pure.

curl(1), --verbose: lines that begin with ``*`` are remarks, with ``<`` and ``>`` headers, with ``{`` and ``}`` data.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.tls import GroupSource, TlsDetails, group_name

_REMARK = re.compile(r"[*<>{}] ")
_CONNECTION = re.compile(r"^\* SSL connection using (TLSv[\d.]+) / ([\w-]+)(?: / (\S+))?", re.MULTILINE)
_SERVER_HELLO = re.compile(
    r"^\* TLSv[\d.]+ \(IN\), TLS handshake, Server hello \(2\):\s*^\{ \[(\d+) bytes data\]", re.MULTILINE
)
_HELLO_BYTES = 90
"""A ServerHello of TLS 1.3 without its key (RFC 8446, 4.1.3): header 4, version 2, random 32, echoed session id 33,
cipher suite 2, compression 1, length of extensions 2, supported_versions 6, key_share 8."""
_RESUMED_BYTES = 6
"""The pre_shared_key extension of a resumed session."""
_KEY_SHARE_BYTES = {32: "X25519", 65: "P-256", 97: "P-384", 133: "P-521", 1120: "X25519MLKEM768"}
"""RFC 8446, 4.2.8 and draft-ietf-tls-ecdhe-mlkem: a share's length tells its group."""
_QUIC_TLS = "TLSv1.3"
"""The only one that QUIC knows (RFC 9001, 4.2)."""


def spoken(stderr: str) -> str:
    """The output without what ``--verbose`` adds."""
    return "\n".join(line for line in stderr.splitlines() if not _REMARK.match(line) and line not in {">", "<", "*"})


def tls_of(client: Client, stderr: str, said_by_server: str = "") -> TlsDetails | None:
    """What was agreed on, as far as it can be known; None for a connection that never stood.

    curl names the group where its TLS library can (OpenSSL 3.2 on). Over TCP the length of the ServerHello tells it
    else. Over QUIC with BoringSSL nothing is said: then only a pinned group is known, or what the server says itself.
    """
    if "* Established connection to " not in stderr and "* using HTTP/" not in stderr:
        return None
    said = _CONNECTION.findall(stderr)  # the last one: arms with a memory make a connection before
    version, cipher, name = (text or None for text in said[-1]) if said else (None, None, None)
    if client.protocol is Protocol.H3:
        version = version or _QUIC_TLS
    if name and "blank" not in name:
        return TlsDetails(version, cipher, group_name(name), GroupSource.CLIENT)
    hellos = _SERVER_HELLO.findall(stderr)
    if hellos and version == _QUIC_TLS:
        share = int(hellos[-1]) - _HELLO_BYTES
        group = _KEY_SHARE_BYTES.get(share) or _KEY_SHARE_BYTES.get(share - _RESUMED_BYTES)
        if group:
            return TlsDetails(version, cipher, group, GroupSource.SERVER_HELLO)
    if len(client.tls_groups) == 1:
        return TlsDetails(version, cipher, client.tls_groups[0], GroupSource.PINNED)
    if said_by_server:
        return TlsDetails(version, cipher, group_name(said_by_server), GroupSource.SERVER)
    return TlsDetails(version, cipher)


def reported_tls(client: Client, said: TlsDetails | None, said_by_server: str = "") -> TlsDetails | None:
    """What another program than curl said was agreed on; a group that it did not name may be known otherwise."""
    if said is None or said.group:
        return said
    if len(client.tls_groups) == 1:
        return replace(said, group=client.tls_groups[0], group_source=GroupSource.PINNED)
    if said_by_server:
        return replace(said, group=group_name(said_by_server), group_source=GroupSource.SERVER)
    return said
