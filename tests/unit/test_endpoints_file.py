import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.endpoints_file import load_endpoints, parse_endpoints
from lastbyte.domain.endpoint import EndpointKind, Origin
from lastbyte.domain.errors import InvalidInput

GOOD = {"id": "a-1MB", "provider": "a", "url": "https://a.example/1MB", "size_label": "1MB"}


def parse(*entries: object) -> list[object]:
    return list(parse_endpoints(json.dumps({"endpoints": entries}), "f.json"))


def test_the_catalogue_that_comes_with_it_has_three_providers_with_objects_and_pages() -> None:
    found = load_endpoints()
    assert len(found) == 18
    assert {e.origin for e in found} == {Origin.PRODUCTION}
    for provider in ("google", "facebook", "cloudflare"):
        own = [e for e in found if e.provider == provider]
        assert [e.size_label for e in own if e.kind is EndpointKind.OBJECT] == ["100KB", "1MB", "5MB"]
        assert [e.size_label for e in own if e.kind is EndpointKind.PAGE] == ["small", "medium", "large"]
    assert next(e for e in found if e.id == "facebook-100KB").url == "https://scontent.xx.fbcdn.net/speedtest-100KB"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://a.example/"}, "f.json: endpoints[0].url"),
        ({"url": None}, "f.json: endpoints[0].url"),
        ({"id": "a b"}, "f.json: endpoints[0].id"),
        ({"id": "testbed-x"}, "f.json: endpoints[0].id"),
        ({"provider": "testbed-nginx"}, "f.json: endpoints[0].provider"),
        ({"kind": "film"}, "f.json: endpoints[0].kind"),
        ({"kind": ["object"]}, "f.json: endpoints[0].kind"),
        ({"expected_bytes": -1}, "f.json: endpoints[0].expected_bytes"),
        ({"expected_bytes": True}, "f.json: endpoints[0].expected_bytes"),
        ({"size_label": " "}, "f.json: endpoints[0].size_label"),
        ({"colour": "red"}, "f.json: endpoints[0].colour"),
    ],
)
def test_a_bad_entry_is_named_with_its_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse({**GOOD, **change})
    assert caught.value.field == field
    assert caught.value.remedy


def test_a_missing_field_and_a_duplicate_id_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"endpoints\[0\].provider: is missing"):
        parse({key: value for key, value in GOOD.items() if key != "provider"})
    with pytest.raises(InvalidInput, match=r"endpoints\[1\].id: 'a-1MB' is taken by endpoints\[0\]"):
        parse(GOOD, GOOD)


@pytest.mark.parametrize("text", ["", "[]", '{"endpoints": 3}', "{", "[" * 100_000, '{"endpoints": [], "x": 1}', "NaN"])
def test_a_file_that_is_no_catalogue_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"f\.json"):
        parse_endpoints(text, "f.json")


def test_a_file_that_is_not_there_or_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be read"):
        load_endpoints(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b'{"endpoints": "\xff"}')
    with pytest.raises(InvalidInput, match="UTF-8"):
        load_endpoints(tmp_path / "bad.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "kind", "expected_bytes", "other"]), json_values))
def test_anything_else_is_an_endpoint_or_a_clear_refusal(change: dict[str, object]) -> None:
    with contextlib.suppress(InvalidInput):  # and no other error
        assert len(parse({**GOOD, **change})) == 1
