"""The testbed's pages: their shapes, the same on every machine, over three names of one provider."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from testbed.catalogue import PROVIDERS, endpoints
from testbed.objects import write_objects
from testbed.pages import SHAPES, Shape, files_of

DIGESTS = {
    "small": "1a643b49cdc679d1c6fed5fccd30de308a575529944f6a83b5a750ad3be3b0fa",
    "medium": "197fc346aec05ee3e2baf4aefadb70db5396d5a38e63aae9d59bc4b406cb9723",
    "large": "a0d3fbd3f5a91ea4cf25195b51fa3e48a3363e5f02db20714862b929440c3071",
}
CADDY = PROVIDERS[0]

each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)


@each_shape
def test_it_has_its_number_of_resources_and_bytes_and_never_changes(shape: Shape) -> None:
    files = files_of(CADDY.name, CADDY.host, shape)
    assert len(files) == shape.resources == {"small": 18, "medium": 59, "large": 99}[shape.label]
    assert sum(map(len, files.values())) == pytest.approx(shape.total_bytes, rel=0.01)
    told = hashlib.sha256(b"".join(path.encode() + data for path, data in sorted(files.items())))
    assert told.hexdigest() == DIGESTS[shape.label]


@each_shape
def test_every_file_is_asked_for_once_over_three_names(shape: Shape) -> None:
    files = files_of(CADDY.name, CADDY.host, shape)
    document = f"{CADDY.name}-page-{shape.label}.html"
    found = re.findall(r'"(https://[^"]+\.(?:css|js|png))"', files[document].decode())
    script = next(data.decode() for path, data in files.items() if b"new Image" in data and path.endswith(".js"))
    (folder,) = re.findall(r'picture.src = "(https://[^"]+/)"', script)
    (late,) = re.findall(r"for \(const name of \[([^]]+)\]", script)
    found += [folder + name for name in re.findall(r'"([^"]+)"', late)]
    assert sorted(urlsplit(url).path.removeprefix("/") for url in found) == sorted(set(files) - {document})
    assert {urlsplit(url).hostname for url in found} == {CADDY.host, f"static.{CADDY.host}", f"img.{CADDY.host}"}


def test_the_catalogue_states_the_digest_of_what_is_served(tmp_path: Path) -> None:
    write_objects(tmp_path)
    pages = [endpoint for endpoint in endpoints() if "-page-" in endpoint.id]
    assert len(pages) == len(PROVIDERS) * len(SHAPES)
    for endpoint in pages:
        served = (tmp_path / urlsplit(endpoint.url).path.removeprefix("/")).read_bytes()
        assert hashlib.sha256(served).hexdigest() == endpoint.expected_sha256
    write_objects(tmp_path)
