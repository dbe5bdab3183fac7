"""Load a whole page in Chromium: when each of its resources came, over which protocol, and when something was painted.

Every time is counted in seconds from the start of the first connection, as the TTLB of a single object is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import CDPSession, Page
from playwright.sync_api import TimeoutError as TimedOut

NOT_ON_THE_WIRE = ("data:", "blob:", "about:", "chrome")
ENDLESS = frozenset({"WebSocket", "EventSource", "Ping", "Preflight"})
"""Kinds of requests that no load event waits for, or that never end."""
BLOCKED = "ERR_NAME_NOT_RESOLVED"
"""How a name ends that is not one of the page's own: the resolver knows those alone."""
PAINTS = """async () => {
  const found = [];
  new PerformanceObserver(list => found.push(...list.getEntries()))
    .observe({type: 'largest-contentful-paint', buffered: true});
  const first = () => performance.getEntriesByName('first-contentful-paint')[0];
  const limit = performance.now() + 1000;
  await new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)));
  do {
    await new Promise(later => setTimeout(later, 20));
  } while (!(first() && found.length) && performance.now() < limit);
  const [load] = performance.getEntriesByType('navigation');
  return {
    zero: load.connectStart,
    load: load.loadEventStart,
    fcp: first()?.startTime,
    lcp: found.length ? Math.max(...found.map(entry => entry.startTime)) : undefined,
  };
}"""
"""Runs once the load event is over: what is shown then is painted in one of the next frames. Milliseconds."""


@dataclass
class Resource:
    """One request. Moments in seconds of Chromium's own monotonic clock."""

    url: str
    kind: str
    sent: float
    wall: float
    """The same moment, in seconds since 1970."""
    request_id: str
    response: Mapping[str, Any] = field(default_factory=dict)
    finished: float = 0.0
    """0: it has not."""
    body_bytes: int = 0
    transferred_bytes: int = 0
    """With its headers, as compressed."""
    error: str = ""
    cached: bool = False

    @property
    def host(self) -> str:
        """Name it was asked of."""
        return urlsplit(self.url).hostname or ""

    @property
    def protocol(self) -> str:
        """``h2``, ``h3``, or what else Chromium calls it; empty without an answer."""
        return str(self.response.get("protocol", ""))

    @property
    def blocked(self) -> bool:
        """Whether its name is none of the page's own."""
        return BLOCKED in self.error

    @property
    def is_over(self) -> bool:
        """Whether it came or failed."""
        return bool(self.finished or self.error)


class PageWatch:
    """What Chromium's network stack says while a page loads."""

    def __init__(self, session: CDPSession) -> None:
        self.resources: list[Resource] = []
        self.load_fired = 0.0
        self._open: dict[str, Resource] = {}
        self._session = session
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.responseReceived", self._received)
        session.on("Network.requestServedFromCache", self._from_cache)
        session.on("Network.dataReceived", self._data)
        session.on("Network.loadingFinished", self._finished)
        session.on("Network.loadingFailed", self._failed)
        session.on("Page.loadEventFired", self._load)
        session.send("Page.enable")
        session.send("Network.enable", {"maxTotalBufferSize": 1 << 30, "maxResourceBufferSize": 1 << 30})

    def _sent(self, event: Mapping[str, Any]) -> None:
        before = self._open.get(event["requestId"])
        if before is not None and "redirectResponse" in event:
            before.response, before.finished = event["redirectResponse"], event["timestamp"]
            before.transferred_bytes = int(event["redirectResponse"].get("encodedDataLength", 0))
        url, kind = event["request"]["url"], event.get("type", "Other")
        if url.startswith(NOT_ON_THE_WIRE) or kind in ENDLESS:
            self._open.pop(event["requestId"], None)
            return
        made = Resource(url, kind, event["timestamp"], event["wallTime"], event["requestId"])
        self._open[event["requestId"]] = made
        self.resources.append(made)

    def _received(self, event: Mapping[str, Any]) -> None:
        if found := self._open.get(event["requestId"]):
            found.response = event["response"]

    def _from_cache(self, event: Mapping[str, Any]) -> None:
        if found := self._open.get(event["requestId"]):
            found.cached = True

    def _data(self, event: Mapping[str, Any]) -> None:
        if found := self._open.get(event["requestId"]):
            found.body_bytes += event["dataLength"]

    def _finished(self, event: Mapping[str, Any]) -> None:
        if found := self._open.get(event["requestId"]):
            found.finished = event["timestamp"]
            found.transferred_bytes = int(event["encodedDataLength"])

    def _failed(self, event: Mapping[str, Any]) -> None:
        if found := self._open.get(event["requestId"]):
            found.error = "" if event.get("canceled") else event.get("errorText") or "failed"
            found.finished = event["timestamp"] if event.get("canceled") else 0.0

    def _load(self, event: Mapping[str, Any]) -> None:
        self.load_fired = self.load_fired or event["timestamp"]

    def counted(self) -> list[Resource]:
        """The page's resources: asked for over the network before the load event, of the page's own names."""
        return [one for one in self._begun() if not one.blocked]

    def blocked_hosts(self) -> list[str]:
        """Names that were asked for and are none of the page's own."""
        return sorted({one.host for one in self._begun() if one.blocked})

    def _begun(self) -> list[Resource]:
        limit = self.load_fired or float("inf")
        return [one for one in self.resources if one.sent <= limit and not one.cached]

    def document(self) -> Resource | None:
        """The document, after redirects."""
        found = [one for one in self.resources if one.request_id == self.resources[0].request_id]
        return found[-1] if found else None


def load_page(page: Page, watch: PageWatch, url: str, timeout_s: float) -> tuple[dict[str, float], str]:
    """Load ``url`` and wait for every resource: moments of painting in ms, and why it failed, empty when it did not."""
    limit = time.monotonic() + timeout_s
    try:
        page.goto(url, wait_until="load", timeout=max(1.0, timeout_s * 1000))
        while time.monotonic() < limit and not (watch.load_fired and all(one.is_over for one in watch.counted())):
            page.wait_for_timeout(5)
    except TimedOut:
        pass
    resources = watch.counted()
    left = [one for one in resources if not one.is_over]
    if left or not watch.load_fired:
        what = "the last byte did not come" if watch.load_fired else "no load event"
        waiting = f"; first of {len(left)} still under way: {left[0].url}" if left else ""
        return {}, f"timed out: {what} within {timeout_s:g} s{waiting}"
    lost = next((one for one in resources if one.error), None)
    return page.evaluate(PAINTS), f"{lost.error} for {lost.url}" if lost else ""


def zero_of(watch: PageWatch) -> float | None:
    """The start of the first connection, on Chromium's clock; None when there was no answer."""
    timing = watch.resources[0].response.get("timing") if watch.resources else None
    return None if not timing else timing["requestTime"] + max(timing["connectStart"], 0) / 1000


def figures_of(watch: PageWatch, painted: Mapping[str, float]) -> dict[str, Any]:
    """What is told of the page as a whole; times in seconds from the start of the first connection."""
    answered = [one for one in watch.counted() if one.response]
    protocols = Counter(one.protocol for one in answered)

    def since(name: str) -> float | None:
        at = painted.get(name)
        return None if not at else (at - painted["zero"]) / 1000

    return {
        "load_s": since("load"),
        "fcp_s": since("fcp"),
        "lcp_s": since("lcp"),
        "resources": len(answered),
        "failed_resources": sum(one.response["status"] >= 400 for one in answered),
        "hosts": len({one.host for one in answered}),
        "body_bytes": sum(one.body_bytes for one in answered),
        "transferred_bytes": sum(one.transferred_bytes for one in answered),
        "connections": sum(not one.response.get("connectionReused", False) for one in answered),
        "protocols": dict(sorted(protocols.items())),
        "blocked_hosts": watch.blocked_hosts()[:20],
    }


def share_of(protocols: Mapping[str, int], protocol: str) -> float:
    """Share of resources that came over ``protocol``; 0 without any."""
    total = sum(protocols.values())
    return protocols.get(protocol, 0) / total if total else 0.0


def mismatch(protocols: Mapping[str, int], protocol: str, min_share: float) -> str:
    """Why the page does not count for ``protocol``; empty when it does."""
    share, total = share_of(protocols, protocol), sum(protocols.values())
    if not total or share >= min_share:
        return ""
    return (
        f"protocol mismatch: {protocols.get(protocol, 0)} of {total} resources ({share:.0%}) came over {protocol}, "
        f"at least {min_share:.0%} must"
    )
