"""Pages that the testbed serves: a document, style sheets, scripts and pictures, over three names of one provider.

All bytes come from SHAKE256 (FIPS 202) over labels, so they are the same on every machine. Only the names in a document
or a script differ between providers.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC, PICTURES = "static", "img"
"""Names below a provider's own from which style sheets and scripts, and most pictures, come."""
_PICTURE_WIDTH = 96
"""Of each picture, in pixels of three bytes."""
_OWN_PICTURES = 5
"""Each fifth picture comes from the document's own name."""
_LATE_PICTURES = 8
"""Each eighth picture is asked for by a script, so that it is found only once that has run."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a page is made of."""

    label: str
    """``small``, ``medium`` or ``large``."""
    styles: int
    scripts: int
    pictures: int
    total_bytes: int
    """Sum of all bodies, nearly: pictures have whole rows."""

    @property
    def resources(self) -> int:
        """Requests that a load takes, the document's included."""
        return 1 + self.styles + self.scripts + self.pictures


SHAPES: tuple[Shape, ...] = (
    Shape("small", 2, 3, 12, 400_000),
    Shape("medium", 4, 12, 42, 1_300_000),
    Shape("large", 6, 22, 70, 2_700_000),
)
"""The small one has 18 resources, the medium one 59, the large one 99."""


def document_name(provider: str, label: str) -> str:
    """Path of a page's document below the root: named after its endpoint."""
    return f"{provider}-page-{label}.html"


def files_of(provider: str, host: str, shape: Shape) -> dict[str, bytes]:
    """Every file of a page: path below the root -> content. ``host`` is the document's name in URLs."""
    folder = document_name(provider, shape.label).removesuffix(".html")
    files = {document_name(provider, shape.label): document(provider, host, shape)}
    for name, size in _sizes(shape).items():
        label = f"lastbyte page {shape.label} {name}"
        if name.endswith(".png"):
            content = png(label, size)
        else:
            content = _padded(_code(name, shape, f"https://{PICTURES}.{host}/{folder}/"), label, size)
        files[f"{folder}/{name}"] = content
    return files


def document(provider: str, host: str, shape: Shape) -> bytes:
    """The page's document."""
    folder = document_name(provider, shape.label).removesuffix(".html")
    late = _late(shape)
    urls = {name: url_of(host, f"{folder}/{name}") for name in _names(shape) if name not in late}
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>lastbyte testbed, {shape.label} page</title>",
        '<link rel="icon" href="data:,">',
        *(f'<link rel="stylesheet" href="{url}">' for name, url in urls.items() if name.endswith(".css")),
        *(f'<script defer src="{url}"></script>' for name, url in urls.items() if name.endswith(".js")),
        "</head><body>",
        f"<h1>A page of {shape.resources} resources</h1>",
        *(
            f'<img src="{url}" width="{_PICTURE_WIDTH}" height="64" alt="noise">'
            for name, url in urls.items()
            if name.endswith(".png")
        ),
        "</body></html>",
    ]
    return "\n".join([*lines, ""]).encode()


def write_pages(root: Path, provider: str, host: str) -> None:
    """Write all pages of a provider below ``root`` where they are missing or differ."""
    for shape in SHAPES:
        for path, data in files_of(provider, host, shape).items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_bytes() != data:
                partial = target.with_name(f"{target.name}.part")
                partial.write_bytes(data)
                partial.replace(target)


def document_sha256(provider: str, host: str, shape: Shape) -> str:
    """Digest of the page's document."""
    return hashlib.sha256(document(provider, host, shape)).hexdigest()


def url_of(host: str, path: str) -> str:
    """Where a style sheet, script or picture is asked for: from one of the provider's three names."""
    name = path.rsplit("/", 1)[-1]
    if name.endswith((".css", ".js")):
        return f"https://{STATIC}.{host}/{path}"
    own = _number(name) % _OWN_PICTURES == 0
    return f"https://{host}/{path}" if own else f"https://{PICTURES}.{host}/{path}"


def png(label: str, size: int) -> bytes:
    """A picture of about ``size`` bytes: noise, in blocks that are stored (RFC 1951, 3.2.4), so it is the same wherever
    it is made."""
    row_bytes = 1 + 3 * _PICTURE_WIDTH
    rows = max(1, size // row_bytes)
    noise = hashlib.shake_256(label.encode()).digest(rows * row_bytes)
    raw = b"".join(b"\0" + noise[row * row_bytes + 1 : (row + 1) * row_bytes] for row in range(rows))
    header = struct.pack(">IIBBBBB", _PICTURE_WIDTH, rows, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _stored(raw)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _stored(raw: bytes) -> bytes:
    blocks = [raw[at : at + 65_535] for at in range(0, len(raw), 65_535)]
    body = b"".join(
        struct.pack("<BHH", at == len(blocks) - 1, len(block), 65_535 - len(block)) + block
        for at, block in enumerate(blocks)
    )
    return b"\x78\x01" + body + struct.pack(">I", zlib.adler32(raw))


def _sizes(shape: Shape) -> Mapping[str, int]:
    """Bytes of each file but the document; a few are large and most are small, as on real pages."""
    names = list(_names(shape))
    draws = hashlib.shake_256(f"lastbyte page {shape.label} sizes".encode()).digest(len(names))
    weights = [1 + 24 * (draw / 255) ** 4 for draw in draws]
    budget = shape.total_bytes - 4000
    return {name: max(600, round(budget * weight / sum(weights))) for name, weight in zip(names, weights, strict=True)}


def _names(shape: Shape) -> Iterator[str]:
    yield from (f"style-{number}.css" for number in range(shape.styles))
    yield from (f"script-{number}.js" for number in range(shape.scripts))
    yield from (f"picture-{number}.png" for number in range(shape.pictures))


def _late(shape: Shape) -> set[str]:
    """Pictures that a script asks for."""
    return {name for name in _names(shape) if name.endswith(".png") and _number(name) % _LATE_PICTURES == 1}


def _number(name: str) -> int:
    return int(name.rsplit("-", 1)[1].split(".", maxsplit=1)[0])


def _code(name: str, shape: Shape, folder_url: str) -> str:
    number = _number(name)
    if name.endswith(".css"):
        return f".part-{number} {{ margin: {number}px }}\n"
    if number < shape.scripts - 1:
        return f"window.part{number} = {number};\n"
    return (
        f"for (const name of {json.dumps(sorted(_late(shape)))}) {{\n"
        f"  const picture = new Image({_PICTURE_WIDTH}, 64);\n"
        f'  picture.src = "{folder_url}" + name;\n'
        "  document.body.append(picture);\n"
        "}\n"
    )


def _padded(text: str, label: str, size: int) -> bytes:
    """The text, then a comment of noise up to ``size`` bytes."""
    room = max(0, size - len(text) - 6)
    noise = hashlib.shake_256(label.encode()).hexdigest(room // 2 + 1)[:room]
    return f"{text}/* {noise} */".encode()
