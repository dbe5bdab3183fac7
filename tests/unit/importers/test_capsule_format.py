from __future__ import annotations

import io
import json
import math
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.errors import InvalidInput
from lastbyte.services import capsule as form
from lastbyte.services.capsule import Capsule, Member, json_line, open_capsule, write_capsule

ROWS = [{"a": index / 7, "b": "x" * 5} for index in range(20)]


def made(rows: list[dict[str, object]]) -> bytes:
    file = io.BytesIO()
    members = [Member(name, [json_line(row) for row in rows]) for name in form.REQUIRED[1:]]
    write_capsule(file, {"id": "1", "name": "n", "state": "done"}, members, "test")
    return file.getvalue()


def opened(capsule: bytes) -> Capsule:
    return open_capsule(io.BytesIO(capsule), "it.capsule")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_come_back_as_the_same_bits(values: list[float]) -> None:
    capsule = opened(made([{"value": value} for value in values]))
    read = [row["value"] for _, row in capsule.rows(form.TRIALS)]
    assert [struct.pack("d", value) for value in read] == [struct.pack("d", value) for value in values]


def test_what_json_can_not_say_is_not_written() -> None:
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON"):
            json_line({"value": value})


def test_the_same_rows_give_the_same_bytes() -> None:
    assert made(list(ROWS)) == made(list(ROWS))
    contents = opened(made(list(ROWS))).contents
    assert contents.lines[form.TRIALS] == 20
    assert contents.version == form.VERSION


def test_any_flipped_bit_is_noticed_or_harmless() -> None:
    whole = made(list(ROWS))
    want = {name: list(opened(whole).rows(name)) for name in form.REQUIRED}
    generator = random.Random(3)  # noqa: S311 - reproducible
    noticed = 0
    for _ in range(3000):
        changed = bytearray(whole)
        changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
        try:
            capsule = opened(bytes(changed))
        except InvalidInput:
            noticed += 1
            continue
        # a bit of the archive's dates or attributes, which nothing reads
        assert {name: list(capsule.rows(name)) for name in form.REQUIRED} == want
    assert noticed > 1500


@given(st.binary(max_size=500))
def test_no_bytes_are_taken_for_a_capsule(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"it\.capsule"):
        opened(data)


def test_rows_that_are_none() -> None:
    file = io.BytesIO()
    members = [Member(name, [b'{"a": 1}\n', b"[]\n"]) for name in form.REQUIRED[1:]]
    write_capsule(file, {"id": "1", "name": "n", "state": "done"}, members, "test")
    with pytest.raises(InvalidInput, match=r"trials\.jsonl line 2: is not a JSON object"):
        list(opened(file.getvalue()).rows(form.TRIALS))
    assert json.loads(json_line({"a": 1})) == {"a": 1}
