"""TLS secrets as clients write them (draft-ietf-tls-keylogfile): label, client random, secret, in hexadecimal."""

from __future__ import annotations

from lastbyte.domain.acks import TraceProblem, TraceUnreadable

CLIENT, SERVER = "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"


def secrets_of(data: bytes, client_random: bytes) -> tuple[bytes, bytes]:
    """The client's and the server's application traffic secret of one connection; raises TraceUnreadable."""
    found: dict[str, bytes] = {}
    others = 0
    for line in data.decode("ascii", "replace").splitlines():
        words = line.split()
        if len(words) != 3 or line.startswith("#"):
            continue
        label, random_hex, secret_hex = words
        try:
            random, secret = bytes.fromhex(random_hex), bytes.fromhex(secret_hex)
        except ValueError:
            continue
        if random == client_random:
            found[label] = secret
        else:
            others += 1
    if CLIENT in found and SERVER in found:
        return found[CLIENT], found[SERVER]
    if others:
        raise TraceUnreadable(TraceProblem.WRONG_KEY_LOG, "The key log holds the secrets of another connection.")
    detail = "The key log lacks the secrets of application data: the handshake was never finished, or it is no key log."
    raise TraceUnreadable(TraceProblem.NO_KEY_LOG, detail)
