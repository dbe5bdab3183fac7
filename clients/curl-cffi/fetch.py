"""Fetch one URL with Chrome's TLS, HTTP/2 and QUIC fingerprint, by curl_cffi's libcurl-impersonate.

The body goes to standard output as it comes; the last line on standard error is a JSON document with what curl
measured. Request headers are curl's own, not Chrome's: those would ask for compression. SSLKEYLOGFILE and QLOGDIR are
honoured.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent / "packages"))

from curl_cffi import Curl, CurlError, CurlInfo, CurlOpt, __version__
from curl_cffi.const import CurlHttpVersion

VERSIONS = {"h2": CurlHttpVersion.V2_0, "h3": CurlHttpVersion.V3ONLY}
NAMES = {2: "1.1", 3: "2", 30: "3", 31: "3"}
CONNECTION = re.compile(r"SSL connection using (TLSv[\d.]+) / ([\w-]+)(?: / (\S+))?")


class Fetch:
    """One transfer and what it said."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self._curl = Curl()
        self._asked = asked
        self._headers: dict[str, str] = {}
        self._remarks: list[str] = []

    def run(self) -> dict[str, Any]:
        """Fetch, and say what was measured; with ``error`` when it failed."""
        error = ""
        try:
            self._prepare()
            self._curl.perform()
        except CurlError as exc:
            error = str(exc)
            if "timed out" in error and not self._info(CurlInfo.APPCONNECT_TIME_T):
                error = f"connect timed out: {error}"
        said = {**self._figures(), **({"error": error} if error else {})}
        self._curl.close()  # the connection too, in order
        return said

    def _prepare(self) -> None:
        asked, curl = self._asked, self._curl
        url = urlsplit(asked.url)
        curl.impersonate(asked.impersonate, default_headers=False)
        address = f"[{asked.address}]" if ":" in asked.address else asked.address
        for option, value in (
            (CurlOpt.URL, asked.url),
            (CurlOpt.HTTP_VERSION, VERSIONS[asked.protocol]),
            (CurlOpt.RESOLVE, [f"{url.hostname}:{url.port or 443}:{address}"]),
            (CurlOpt.NOPROXY, "*"),
            (CurlOpt.TIMEOUT_MS, int(asked.timeout * 1000)),
            (CurlOpt.CONNECTTIMEOUT_MS, int(asked.connect_timeout * 1000)),
            (CurlOpt.CAINFO, asked.ca_file),
            (CurlOpt.WRITEDATA, sys.stdout.buffer),
            (CurlOpt.HEADERFUNCTION, self._header),
            (CurlOpt.VERBOSE, 1),
            (CurlOpt.DEBUGFUNCTION, self._remark),
        ):
            curl.setopt(option, value)
        if asked.groups:
            curl.setopt(CurlOpt.SSL_EC_CURVES, asked.groups)

    def _header(self, line: bytes) -> int:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            self._headers[name.strip().lower()] = value.strip()
        return len(line)

    def _remark(self, kind: int, data: bytes) -> None:
        if kind == 0:  # CURLINFO_TEXT
            self._remarks.append(data.decode("latin-1"))

    def _info(self, what: CurlInfo) -> Any:
        return self._curl.getinfo(what)

    def _figures(self) -> dict[str, Any]:
        start = self._info(CurlInfo.NAMELOOKUP_TIME_T)
        said: dict[str, Any] = {
            "start_us": start,
            "handshake_us": self._info(CurlInfo.APPCONNECT_TIME_T) or None,
            "ttfb_us": self._info(CurlInfo.STARTTRANSFER_TIME_T) or None,
            "ttlb_us": self._info(CurlInfo.TOTAL_TIME_T),
            "status": self._info(CurlInfo.RESPONSE_CODE) or None,
            "http_version": NAMES.get(self._info(CurlInfo.HTTP_VERSION)),
            "body_bytes": int(self._info(CurlInfo.SIZE_DOWNLOAD_T)),
            "remote_address": _text(self._info(CurlInfo.PRIMARY_IP)),
            "connections": self._info(CurlInfo.NUM_CONNECTS),
            "headers": self._headers,
        }
        if "content-length" in self._headers:
            said["announced_bytes"] = int(self._headers["content-length"])
        agreed = CONNECTION.search("".join(self._remarks))
        if agreed:
            said["tls_version"], said["tls_cipher"] = agreed[1], agreed[2]
            if agreed[3] and "blank" not in agreed[3]:
                said["tls_group"] = agreed[3]
        return {name: value for name, value in said.items() if value is not None}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="version", version=f"curl_cffi {__version__} {_text(Curl().version())}")
    parser.add_argument("--protocol", choices=sorted(VERSIONS), required=True)
    parser.add_argument("--impersonate", default="chrome")
    parser.add_argument("--address", required=True)
    parser.add_argument("--ca-file", default="/etc/ssl/certs/ca-certificates.crt")
    parser.add_argument("--groups", default="")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--connect-timeout", type=float, default=20.0)
    parser.add_argument("url")
    said = Fetch(parser.parse_args()).run()
    sys.stdout.flush()
    error = said.get("error", "")
    if not error and said.get("status") != 200:
        error = f"status {said.get('status')}"
    if error:
        sys.stderr.write(f"curl-cffi: {error}\n")
    sys.stderr.write(json.dumps(said) + "\n")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
