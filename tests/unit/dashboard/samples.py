"""Answers of the API as the heatmap tests need them."""

from __future__ import annotations

from typing import Any


def arm(n: int = 10, median_ms: float | None = 100.0, **kinds: int) -> dict[str, Any]:
    return {
        "n": n,
        "failures": sum(kinds.values()),
        "median_ttlb_ms": median_ms,
        "failure_kinds": {k.replace("_", "-"): v for k, v in kinds.items()},
    }


def cell(profile: str = "baseline", size: str = "100KB", diff: float | None = 12.34, **other: Any) -> dict[str, Any]:
    n = 0 if diff is None else 10
    return {
        "cell_id": 1,
        "endpoint": f"testbed-caddy-{size}",
        "size_label": size,
        "profile": profile,
        "loss_pct": 0.0,
        "extra_rtt_ms": 0.0,
        "rate_mbit_s": 10.0,
        "state": "done",
        "n": n,
        "diff_pct": diff,
        "ci_low_pct": None if diff is None else diff - 2,
        "ci_high_pct": None if diff is None else diff + 2,
        "verdict": "no data" if diff is None else "h2 faster" if diff > 0 else "h3 faster",
        "baseline": arm(),
        "candidate": arm(median_ms=112.0),
        "proof": {"box_kind": "uml", "rtt_requested_ms": 10.0, "rtt_achieved_ms": 10.21},
        "unproven_reason": None,
        **other,
    }


def heatmap(*cells: dict[str, Any], provider: str = "testbed-caddy") -> dict[str, Any]:
    return {
        "campaign_id": "c",
        "state": "done",
        "baseline": "curl-quiche-h2",
        "candidate": "curl-quiche-h3",
        "origin_note": "",
        "providers": [{"provider": provider, "origin": "testbed", "base_rtt_ms": 10.0, "cells": list(cells)}],
    }


def campaign(**other: Any) -> dict[str, Any]:
    return {
        "id": "4f8c1a52-0000-4000-8000-000000000000",
        "name": "demo",
        "state": "running",
        "created_at": "2026-11-20T10:00:00Z",
        "started_at": "2026-11-20T10:00:01Z",
        "finished_at": None,
        "endpoints": ["testbed-caddy-100KB"],
        "profiles": ["baseline"],
        "clients": ["curl-quiche-h2", "curl-quiche-h3"],
        "rounds": 10,
        "seed": 7,
        "vantage": "local",
        "cells_planned": 1,
        "cells_done": 0,
        "trials_planned": 22,
        "trials_done": 11,
        "trials_failed": 0,
        "progress": 0.5,
        "eta_s": 300.0,
        **other,
    }


def trial(round_index: int, client: str, ttlb_ms: float | None = 100.0, **other: Any) -> dict[str, Any]:
    return {
        "id": f"{round_index}-{client}",
        "cell_id": 1,
        "endpoint": "testbed-caddy-100KB",
        "profile": "baseline",
        "client": client,
        "round": round_index,
        "position": 0,
        "warmup": round_index == 0,
        "capture": round_index < 0,
        "started_at": "2026-11-20T10:00:01.5Z",
        "outcome": "ok" if ttlb_ms is not None else "timeout",
        "failure_detail": None if ttlb_ms is not None else "no last byte within 30 s",
        "handshake_ms": 20.0 if ttlb_ms is not None else None,
        "ttfb_ms": 30.0 if ttlb_ms is not None else None,
        "ttlb_ms": ttlb_ms,
        "http_status": 200,
        "http_version": "3" if client.endswith("h3") else "2",
        "body_bytes": 100_000,
        "remote_address": "10.200.1.1",
        "client_version": "curl 8.22.0",
        "client_sha256": "ab" * 32,
        "proof": None,
        **other,
    }


def schedule(**other: Any) -> dict[str, Any]:
    return {
        "id": 3,
        "name": "every night",
        "cron": "15 3 * * *",
        "time_zone": "Europe/Berlin",
        "words": "At 03:15",
        "template": {
            "endpoints": ["testbed-caddy-1MB"],
            "profiles": ["baseline"],
            "clients": ["curl-quiche"],
            "rounds": 10,
        },
        "enabled": True,
        "missed": "skip",
        "overlap": "skip",
        "created_at": "2026-11-20T10:00:00Z",
        "next_due_at": "2026-11-21T02:15:00Z",
        "next_runs": [{"at": "2026-11-21T02:15:00Z", "local": "2026-11-21T03:15:00+01:00"}],
        "clock_notes": [],
        "last_run": {
            "id": 1,
            "schedule_id": 3,
            "due_at": "2026-11-20T02:15:00Z",
            "trigger": "clock",
            "outcome": "skipped",
            "reason": "the one before still runs",
            "campaign_id": None,
            "campaign_state": None,
            "created_at": "2026-11-20T02:15:01Z",
        },
        **other,
    }
