"""From a client's argument template to the exact argument list of one trial. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit, urlunsplit

from lastbyte.domain.client import Client
from lastbyte.ports import Target

PROTOCOL_ARGV = "{protocol_argv}"
"""Item of a template that stands for the arguments of the protocol; spliced when the description is loaded."""
MEMORY_ARGV = "{memory_argv}"
"""Item of a template that stands for what an arm with a memory does first; spliced when the description is loaded."""
CA_ARGV = "{ca_argv}"
"""Item of a template that stands for ``ca_argv``, or for nothing when the trial has no CA file of its own."""

TLS_GROUPS_ARGV = "{tls_groups_argv}"
"""Item of a template that stands for ``tls_groups_argv``, or for nothing when no groups are pinned."""

WARM_UP_ARGV = "{warm_up_argv}"
"""Item of a template that stands for ``warm_up_argv``: what the process does before the fetch, so as to be warm."""

WARM_UP_END = "lastbyte: warm"
"""What a program writes to its standard error when it is; all that it said until then is no part of the fetch."""

CURL_WRITE_OUT = "%{json}\n%{header_json}"
"""curl(1), --write-out: every figure as one line of JSON, then the response headers as a JSON object."""

PLACEHOLDERS = frozenset(
    {
        "url",
        "host",
        "bracketed_host",
        "port",
        "path",
        "kind",
        "address",
        "bracketed_address",
        "ca_file",
        "tls_groups",
        "timeout_s",
        "connect_timeout_s",
        "curl_write_out",
        "warm_up_end",
    }
)

_PLACEHOLDER = re.compile(r"(?<!%)\{([a-z_][a-z0-9_]*)\}")
"""A name in braces; ``%{name}`` is left alone, because curl's own --write-out variables are written so."""


def names_in(item: str) -> list[str]:
    """Placeholders that a template item names."""
    return _PLACEHOLDER.findall(item)


def command_line(client: Client, target: Target, timeout_s: float, connect_timeout_s: float) -> list[str]:
    """Arguments of one trial, without the executable."""
    values = {
        **_values(target, timeout_s, min(connect_timeout_s, timeout_s)),
        "tls_groups": ":".join(client.tls_groups),
    }
    lists = {
        CA_ARGV: client.ca_argv if target.ca_file is not None else (),
        TLS_GROUPS_ARGV: client.tls_groups_argv if client.tls_groups else (),
    }
    warm = [part for item in client.argv for part in (client.warm_up_argv if item == WARM_UP_ARGV else (item,))]
    template = [part for item in warm for part in lists.get(item, (item,))]
    return [fill(item, values) for item in template]


def fill(item: str, values: Mapping[str, str]) -> str:
    """``item`` with its placeholders replaced; a name without a value is left as it stands."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), item)


def _values(target: Target, timeout_s: float, connect_timeout_s: float) -> dict[str, str]:
    endpoint = target.endpoint
    parts = urlsplit(endpoint.url)
    host = ascii_host(endpoint.host)
    return {
        "url": endpoint.url if host == endpoint.host else _with_host(parts, host),
        "host": host,
        "bracketed_host": bracketed(host),
        "port": str(endpoint.port),
        "path": (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        "kind": endpoint.kind.value,
        "address": target.address,
        "bracketed_address": bracketed(target.address),
        "ca_file": str(target.ca_file or ""),
        "timeout_s": seconds(timeout_s),
        "connect_timeout_s": seconds(connect_timeout_s),
        "curl_write_out": CURL_WRITE_OUT,
        "warm_up_end": f"{WARM_UP_END}\n",
    }


def ascii_host(host: str) -> str:
    """``host`` as it stands in the DNS (RFC 3490): not every client converts it, and ``--resolve`` must match."""
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def _with_host(parts: SplitResult, host: str) -> str:
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit(parts._replace(netloc=f"{host}{port}"))


def bracketed(host: str) -> str:
    """``host``, in brackets when it is an IPv6 literal (RFC 3986, 3.2.2)."""
    return f"[{host}]" if ":" in host else host


def seconds(value: float) -> str:
    """Seconds to the millisecond without trailing zeros, never less than 1 ms (0 would mean "no limit" to curl)."""
    return f"{max(value, 0.001):.3f}".rstrip("0").rstrip(".")
