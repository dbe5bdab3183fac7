"""CSV of what the pages show. Full precision, units in the column names, no formatting."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from dashboard.client import Json
from dashboard.figures.grid import all_cells

_CELL = (
    "endpoint", "size_label", "profile", "loss_pct", "extra_rtt_ms", "rate_mbit_s", "state", "n", "diff_pct",
    "ci_low_pct", "ci_high_pct", "verdict", "unproven_reason",
)  # fmt: skip
_PROOF = ("box_kind", "rtt_requested_ms", "rtt_achieved_ms")
_TRIAL = (
    "id", "endpoint", "profile", "client", "round", "position", "warmup", "capture", "started_at", "outcome",
    "failure_detail",
    "handshake_ms", "ttfb_ms", "ttlb_ms", "http_status", "http_version", "body_bytes", "remote_address",
    "client_version", "client_sha256",
)  # fmt: skip


def heatmap_csv(heatmap: Json) -> str:
    """One line per cell of a campaign."""
    arms = ("baseline", "candidate")
    header = [
        "provider", *_CELL, *(f"{arm}_{key}" for arm in arms for key in ("client", "n", "failures", "median_ttlb_ms")),
        *_PROOF,
    ]  # fmt: skip
    lines = (
        [
            provider,
            *(cell.get(key) for key in _CELL),
            *(
                value
                for arm in arms
                for value in (
                    cell.get(f"{arm}_client", heatmap[arm]),
                    cell[arm]["n"],
                    cell[arm]["failures"],
                    cell[arm]["median_ttlb_ms"],
                )
            ),
            *((cell.get("proof") or {}).get(key) for key in _PROOF),
        ]
        for provider, cell in all_cells(heatmap)
    )
    return _csv(header, lines)


def trials_csv(trials: Sequence[Json]) -> str:
    """One line per trial."""
    return _csv(_TRIAL, ([trial.get(key) for key in _TRIAL] for trial in trials))


def _csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_safe(value) for value in line] for line in lines)
    return out.getvalue()


def _safe(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe in front (OWASP, CSV injection)."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
