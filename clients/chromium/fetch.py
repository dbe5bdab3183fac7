"""Fetch one URL by Chromium, or load a whole page, in a fresh profile, from one pinned address, over one protocol.

The body goes to standard output; the last line on standard error is a JSON document with what was measured. Times are
of Chromium's own network stack, in seconds from the start of the connection. SSLKEYLOGFILE is honoured, and for a page
LASTBYTE_HAR_FILE: where to write a HAR. The body of a page is that of its document.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "packages")]

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from har import har_of
from keeper import run_kept
from page_load import PageWatch, figures_of, load_page, mismatch, zero_of
from playwright.sync_api import CDPSession, Error, Page, sync_playwright

QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--disable-domain-reliability",
    "--disable-field-trial-config",
    "--disable-features=OptimizationHints,MediaRouter,AutofillServerCommunication,NetworkTimeServiceQuerying",
    "--no-proxy-server",
)
PREFERENCES = {"net": {"network_prediction_options": 2}}
"""No connection is opened before the page asks for it: its beginning would be in none of the times."""
OBJECT = ("--disable-web-security",)
"""For a single object: about:blank may then read what it fetched."""
FETCH = """async ([url, milliseconds]) => {
  const signal = AbortSignal.timeout(milliseconds);
  const answer = await fetch(url, {cache: 'no-store', credentials: 'omit', signal});
  await answer.arrayBuffer();
}"""


VERSIONS = {"h2": "2", "h3": "3", "http/1.1": "1.1"}
CIPHERS = {
    "AES_128_GCM": "TLS_AES_128_GCM_SHA256",
    "AES_256_GCM": "TLS_AES_256_GCM_SHA384",
    "CHACHA20_POLY1305": "TLS_CHACHA20_POLY1305_SHA256",
}
"""TLS 1.3's cipher suites by Chromium's names and by IANA's."""
GONE = re.compile(r"has been closed|page crashed|target crashed|connection closed", re.IGNORECASE)
"""How Playwright says that browser or page died under it."""
PLAIN_WORDS = {
    "ERR_CERT": "certificate",
    "ERR_SSL": "TLS alert",
    "ERR_QUIC_HANDSHAKE_FAILED": "QUIC handshake failed",
    "ERR_CONNECTION_RESET": "connection reset",
    "ERR_CONNECTION_CLOSED": "connection reset",
    "ERR_HTTP2": "stream error",
    "ERR_TIMED_OUT": "timed out",
    "ERR_ABORTED": "the fetch timed out",
    "ERR_CONNECTION_TIMED_OUT": "connect timed out",
    "ERR_CONTENT_LENGTH_MISMATCH": "short body",
    "ERR_INCOMPLETE": "short body",
}
"""What Chromium's errors begin with, and what lastbyte sorts failures by."""


def options(asked: argparse.Namespace) -> list[str]:
    """Chromium's command line."""
    url = urlsplit(asked.url)
    address = f"[{asked.address}]" if ":" in asked.address else asked.address
    origin = f"{url.hostname}:{url.port or 443}"
    names, forced = f"MAP {url.hostname} {address}", origin
    if asked.kind == "page":  # its own names are those below the document's; no other is known
        names, forced = f"{names}, MAP *.{url.hostname} {address}", "*"
    made = [*QUIET, *(OBJECT if asked.kind == "object" else ()), f"--host-resolver-rules={names}, MAP * ~NOTFOUND"]
    spoken = asked.speak or asked.protocol
    made += ["--enable-quic", f"--origin-to-force-quic-on={forced}"] if spoken == "h3" else ["--disable-quic"]
    if os.geteuid() == 0:
        made.append("--no-sandbox")  # there is no other way for root
    if asked.ca_file:
        keys = ",".join(keys_of_server(asked.ca_file, url.hostname or ""))
        made.append(f"--ignore-certificate-errors-spki-list={keys}")
    if os.environ.get("SSLKEYLOGFILE"):
        made.append(f"--ssl-key-log-file={os.environ['SSLKEYLOGFILE']}")
    return made


def version(chromium: str | None) -> int:
    """Print the versions; 1, and nothing printed, without a browser that runs."""
    if chromium is None:
        return 1
    done = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        sys.stdout.write(f"{done.stdout.strip()}, playwright {metadata.version('playwright')}\n")
    return done.returncode


def keys_of_server(ca_file: str, host: str) -> list[str]:
    """Digests of the keys that may stand for ``host``: of certificates beside the file, by an authority in it.

    Chromium can't be told of an authority without changing the machine, and over QUIC it insists on one that it knows;
    but of single keys it can be told (--ignore-certificate-errors-spki-list).
    """
    authorities = x509.load_pem_x509_certificates(Path(ca_file).read_bytes())
    keys = []
    for file in sorted(Path(ca_file).parent.glob("*.pem")):
        try:
            certificate = x509.load_pem_x509_certificate(file.read_bytes())
        except (OSError, ValueError):
            continue  # a key, or one that is not ours to read
        if host in _names(certificate) and any(_issued(certificate, authority) for authority in authorities):
            key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
            keys.append(base64.b64encode(hashlib.sha256(key).digest()).decode())
    return keys


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return names.value.get_values_for_type(x509.DNSName)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


class Watch:
    """What Chromium's network stack says of one URL."""

    def __init__(self, page: Page, url: str) -> None:
        self._url = url
        self._id = ""
        self.response: dict[str, Any] = {}
        self.finished = 0.0
        self.error = ""
        session = page.context.new_cdp_session(page)
        session.send("Network.enable", {"maxTotalBufferSize": 1 << 30, "maxResourceBufferSize": 1 << 30})
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.responseReceived", self._received)
        session.on("Network.loadingFinished", self._finished)
        session.on("Network.loadingFailed", self._failed)
        self._session = session

    def _sent(self, event: dict[str, Any]) -> None:
        if event["request"]["url"] == self._url:
            self._id = event["requestId"]

    def _received(self, event: dict[str, Any]) -> None:
        if event["requestId"] == self._id:
            self.response = event["response"]

    def _finished(self, event: dict[str, Any]) -> None:
        if event["requestId"] == self._id:
            self.finished = event["timestamp"]

    def _failed(self, event: dict[str, Any]) -> None:
        if event["requestId"] == self._id:
            self.error = event.get("errorText", "failed")

    def body(self) -> bytes:
        """The body as Chromium has it."""
        return body_of(self._session, self._id)


def body_of(session: CDPSession, request_id: str) -> bytes:
    """The body of an answer as Chromium has it."""
    said = session.send("Network.getResponseBody", {"requestId": request_id})
    return base64.b64decode(said["body"]) if said["base64Encoded"] else str(said["body"]).encode()


def fetch(asked: argparse.Namespace, profile: str) -> tuple[dict[str, Any], bytes]:
    """Fetch; what was measured, with ``error`` when it failed, and the body."""
    preferences = Path(profile, "Default", "Preferences")
    preferences.parent.mkdir(parents=True)
    preferences.write_text(json.dumps(PREFERENCES))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            profile, executable_path=asked.chromium, args=options(asked), timeout=30_000
        )
        page = browser.pages[0]
        if asked.kind == "page":
            told = load(asked, page)
            await_keys(page)
            browser.close()
            return told
        watch = Watch(page, asked.url)
        try:
            page.evaluate(FETCH, [asked.url, int(asked.timeout * 1000) or 1])
        except Error as exc:
            watch.error = "the fetch timed out" if "TimeoutError" in exc.message else watch.error or exc.message
        limit = time.monotonic() + 2
        while not (watch.finished or watch.error) and time.monotonic() < limit:
            page.wait_for_timeout(5)
        said, body = figures(watch), b""
        if not watch.error:
            body = watch.body()
            said["body_bytes"] = len(body)
        await_keys(page)
        browser.close()
    if watch.error:
        said["error"] = in_plain_words(watch.error)
    return said, body


def load(asked: argparse.Namespace, page: Page) -> tuple[dict[str, Any], bytes]:
    """Load a whole page; what was measured, with ``error`` when it failed, and the body of its document."""
    session = page.context.new_cdp_session(page)
    watch = PageWatch(session)
    painted, error = load_page(page, watch, asked.url, asked.timeout)
    document, zero = watch.document(), zero_of(watch)
    if document is None or zero is None or not document.response:
        return {"error": in_plain_words(error or "no answer")}, b""
    answer, said = document.response, figures_of(watch, painted)
    timing, spoken = answer["timing"], max(said["protocols"], key=said["protocols"].get)
    told = {
        **of_answer(answer),
        "handshake_s": timing["connectEnd"] / 1000 + timing["requestTime"] - zero,
        "ttfb_s": timing["receiveHeadersStart"] / 1000 + timing["requestTime"] - zero,
        "body_bytes": said["body_bytes"],
        "connections": said["connections"],
        "page": said,
    }
    error = error or mismatch(said["protocols"], asked.protocol, asked.min_share)
    told["http_version"] = VERSIONS.get(spoken, spoken)
    if error:
        told["error"] = in_plain_words(error)
    else:
        told["http_version"] = VERSIONS[asked.protocol]
        told["ttlb_s"] = max(one.finished for one in watch.counted()) - zero
    if os.environ.get("LASTBYTE_HAR_FILE"):
        version = page.context.browser.version if page.context.browser else ""
        Path(os.environ["LASTBYTE_HAR_FILE"]).write_text(json.dumps(har_of(watch, asked.url, painted, version)))
    return told, b"" if error else body_of(session, document.request_id)


def in_plain_words(error: str) -> str:
    """Chromium's name of an error with the words that lastbyte sorts failures by."""
    plain = next((words for code, words in PLAIN_WORDS.items() if code in error), "")
    return f"{plain}: {error}" if plain else error


def await_keys(page: Page) -> None:
    """Chromium writes its key log in the background and forgets what is left when it ends."""
    file = os.environ.get("SSLKEYLOGFILE")
    limit = time.monotonic() + 2
    while file and time.monotonic() < limit:
        if Path(file).is_file() and "SERVER_TRAFFIC_SECRET_0" in Path(file).read_text():
            return
        page.wait_for_timeout(10)


def figures(watch: Watch) -> dict[str, Any]:
    """What is printed."""
    answer = watch.response
    timing = answer.get("timing")
    said: dict[str, Any] = {}
    if not timing:
        return said
    start = timing["connectStart"] / 1000
    said = {
        **of_answer(answer),
        "handshake_s": timing["connectEnd"] / 1000 - start,
        "ttfb_s": timing["receiveHeadersStart"] / 1000 - start,
        "ttlb_s": watch.finished - timing["requestTime"] - start if watch.finished else None,
        "connections": 0 if answer["connectionReused"] else 1,
    }
    if "content-length" in said["headers"]:
        said["announced_bytes"] = int(said["headers"]["content-length"])
    return {name: value for name, value in said.items() if value is not None}


def of_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What is printed of a response."""
    security = answer.get("securityDetails", {})
    said = {
        "status": answer["status"],
        "http_version": VERSIONS.get(answer["protocol"], answer["protocol"]),
        "remote_address": answer.get("remoteIPAddress", "").strip("[]"),
        "tls_version": {"TLS 1.3": "TLSv1.3", "QUIC": "TLSv1.3"}.get(security.get("protocol", "")),
        "tls_cipher": CIPHERS.get(security.get("cipher", ""), security.get("cipher")),
        "tls_group": security.get("keyExchangeGroup"),
        "headers": {name.lower(): value for name, value in answer["headers"].items()},
    }
    return {name: value for name, value in said.items() if value is not None}


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    chromium = os.environ.get("LASTBYTE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if sys.argv[1:] == ["--version"]:
        return version(chromium)
    parser.add_argument("--protocol", choices=["h2", "h3"], required=True)
    parser.add_argument("--speak", choices=["h2", "h3"], help="another one than is asserted, to see that it is told")
    parser.add_argument("--chromium", default=chromium)
    parser.add_argument("--address", required=True)
    parser.add_argument("--ca-file")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--kind", choices=["object", "page"], default="object")
    parser.add_argument("--min-share", type=float, default=0.9, help="of a page's resources that the protocol carries")
    parser.add_argument("url")
    asked = parser.parse_args()
    status: int = run_kept(lambda folder: run(asked, folder))
    return status


def run(asked: argparse.Namespace, folder: str) -> int:
    """Fetch, print, and return the exit status; whatever browser and Playwright write lies in ``folder``."""
    os.environ.update(HOME=folder, TMPDIR=folder)
    try:
        said, body = fetch(asked, f"{folder}/profile")
    except Error as exc:
        said, body = {"error": f"{'browser crashed: ' if GONE.search(exc.message) else ''}{exc.message}"}, b""
    sys.stdout.buffer.write(body)
    sys.stdout.flush()
    error = said.get("error", "")
    if not error and said.get("status") != 200:
        error = f"status {said.get('status')}"
    if error:
        sys.stderr.write(f"chromium: {error}\n")
    sys.stderr.write(json.dumps(said) + "\n")
    sys.stderr.flush()
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
