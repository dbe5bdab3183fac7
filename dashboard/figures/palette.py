"""Colours for light and dark, and the arithmetic that keeps text legible on them.

The diverging scale runs from blue (H3 faster) over a neutral to red (H3 slower). Blue against red stays apart for the
common colour vision deficiencies (ColorBrewer marks RdBu as colour-blind safe); the sign and the words repeat it.
"""

from __future__ import annotations

from dataclasses import dataclass

CLIP_PCT = 25.0
"""Colours saturate here, in percent, on both sides of zero; the number in the cell is never clipped."""

FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

ON_LIGHT = "#050505"
ON_DARK = "#ffffff"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of one colour scheme."""

    surface: str
    """What figures stand on."""
    text: str
    muted: str
    grid: str
    empty: str
    """Cells with nothing to show."""
    scale: tuple[tuple[float, str], ...]
    """Diverging scale: position in -1..1 and colour, ascending."""
    h2: str
    h3: str
    hover: str
    phases: tuple[str, str, str]
    """Handshake, wait, transfer: apart from each other in lightness too."""
    series: tuple[str, ...]
    """For lines that are neither H2 nor H3 (Okabe and Ito's colour-blind safe set, adapted)."""
    alert: str


LIGHT = Palette(
    surface="#ffffff",
    text="#1b1f24",
    muted="#59636e",
    grid="#e3e7ec",
    empty="#f1f3f5",
    scale=((-1.0, "#1a5599"), (-0.5, "#79afd8"), (0.0, "#f3f2ee"), (0.5, "#ee9a7b"), (1.0, "#ad1a2b")),
    h2="#c2303c",
    h3="#1f66b0",
    hover="#ffffff",
    phases=("#2f3e7e", "#e0a100", "#7fb8a4"),
    series=("#0072b2", "#b34700", "#00795b", "#8b3a78", "#8a6d00", "#3c4650"),
    alert="#b3202c",
)
DARK = Palette(
    surface="#1d2126",
    text="#e8ebee",
    muted="#a3acb6",
    grid="#343b43",
    empty="#292e35",
    scale=((-1.0, "#6db3f2"), (-0.5, "#3a6fa6"), (0.0, "#3a3f46"), (0.5, "#a5503f"), (1.0, "#fb7f67")),
    h2="#fb7f67",
    h3="#6db3f2",
    hover="#2b3138",
    phases=("#8c9eff", "#f0c14b", "#4f8f7b"),
    series=("#5db8f0", "#f29a5a", "#3fc79a", "#d78bc4", "#e6c84a", "#c3ccd6"),
    alert="#ff8a80",
)


def palette(scheme: str) -> Palette:
    """The palette of ``light`` or ``dark``."""
    return DARK if scheme == "dark" else LIGHT


def diverging(pal: Palette, value_pct: float, clip_pct: float = CLIP_PCT) -> str:
    """Colour of a difference in percent, as the heatmap draws it; saturated from ``clip_pct`` on."""
    at = max(-1.0, min(1.0, value_pct / clip_pct))
    for (low, low_colour), (high, high_colour) in zip(pal.scale, pal.scale[1:], strict=False):
        if at <= high:
            return blend(low_colour, high_colour, (at - low) / (high - low))
    return pal.scale[-1][1]


def muted_diverging(pal: Palette, value_pct: float, clip_pct: float = CLIP_PCT) -> str:
    """The same, faded towards the surface: for differences that are not established."""
    return blend(diverging(pal, value_pct, clip_pct), pal.surface, 0.6)


def sequential(pal: Palette, value_pct: float, limit_pct: float) -> str:
    """Colour of a percentage over the best: neutral at 0, saturated red from ``limit_pct`` on."""
    return diverging(pal, max(0.0, value_pct), limit_pct)


def blend(first: str, second: str, share: float) -> str:
    """Mix of two ``#rrggbb`` colours in sRGB; ``share`` of the second, 0 to 1."""
    mixed = (round(a + (b - a) * share) for a, b in zip(_rgb(first), _rgb(second), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def legible_on(background: str) -> str:
    """Near-black or white, whichever has the greater contrast: always above 4.5 to 1 (WCAG 2.2, 1.4.3)."""
    return max((ON_LIGHT, ON_DARK), key=lambda colour: contrast(colour, background))


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
