"""Endpoints that fail, each in its own way, on real sockets: a stored failure of the right kind, and on it goes."""

from __future__ import annotations

import pytest

from tests.stack import Stack

H2, H3 = "curl-quiche-h2", "curl-quiche-h3"

EXPECTED = {
    "https://no-such-host.invalid/": {H2: "dns", H3: "dns"},
    "https://testbed-refused.test/100KB.bin": {H2: "refused", H3: "refused"},
    "https://testbed-badcert.test/100KB.bin": {H2: "tls", H3: "tls"},
    "https://testbed-caddy.test/no-such-file": {H2: "http-status", H3: "http-status"},
    "https://testbed-h2only.test/100KB.bin": {H2: "ok", H3: "protocol"},
    "https://testbed-faults.test/short.bin": {H2: ("short-body", "reset"), H3: ("short-body", "reset")},
    "https://testbed-faults.test/stall.bin": {H2: "timeout", H3: "timeout"},
    "https://testbed-silent.test/": {H2: "connect-timeout", H3: "connect-timeout"},
}


@pytest.fixture(scope="module")
def hurried() -> object:
    """A system whose trials may take 4 s at most, so that time-outs are met soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LASTBYTE_TRIAL_TIMEOUT_S", "4")
        with Stack("--no-demo") as running:
            yield running


def test_each_kind_of_failure_is_stored_and_the_campaign_goes_on(hurried: Stack) -> None:
    created = hurried.post(
        name="failures", endpoints=[*EXPECTED, "testbed-caddy-100KB"], profiles=["baseline"], clients=[H2, H3], rounds=1
    )
    ended = hurried.wait_done(created["id"], 240)
    assert ended["state"] == "done"
    assert ended["trials_done"] == ended["trials_planned"]
    outcomes: dict[tuple[str, str], set[str]] = {}
    for trial in hurried.trials(created["id"]):
        outcomes.setdefault((trial["endpoint"], trial["client"]), set()).add(trial["outcome"])
        if trial["outcome"] != "ok":
            assert trial["failure_detail"], "a failure without what the client said"
            assert trial["ttlb_ms"] is None
    for endpoint, kinds in EXPECTED.items():
        for client, kind in kinds.items():
            allowed = {kind} if isinstance(kind, str) else set(kind)
            assert outcomes[endpoint, client] <= allowed, (endpoint, client, outcomes[endpoint, client])
    assert outcomes["testbed-caddy-100KB", H2] == {"ok"}
    squares = [c for p in hurried.heatmap(created["id"])["providers"] for c in p["cells"]]
    silent = next(c for c in squares if c["endpoint"] == "https://testbed-silent.test/")
    assert silent["verdict"] == "no data"
    assert silent["baseline"]["failure_kinds"] == {"connect-timeout": 1}
