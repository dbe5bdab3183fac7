"""The parts of the PostgreSQL adapter that need no server."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.adapters.postgres import codec, paging
from lastbyte.domain.client import Client, Protocol
from lastbyte.domain.endpoint import Endpoint, EndpointKind, Origin
from lastbyte.domain.errors import InvalidInput
from lastbyte.domain.page import PageLoad
from lastbyte.domain.profile import Impairment, Profile
from lastbyte.domain.trial import DirectionCounters, Failure, FailureKind, LinkProof, Observation, Trial

finite = st.floats(0, 1000)
words = st.text(max_size=20)
impairments = st.builds(Impairment, finite, finite, st.none() | finite, st.integers(1, 1000))


def through_json(data: object) -> object:
    return json.loads(json.dumps(data))


@given(st.builds(Profile, words, words, impairments, impairments))
def test_profile_survives_json(profile: Profile) -> None:
    assert codec.profile_from_json(through_json(codec.profile_to_json(profile))) == profile  # type: ignore[arg-type]


@given(
    st.builds(
        Endpoint,
        words,
        words,
        words,
        words,
        st.sampled_from(EndpointKind),
        st.sampled_from(Origin),
        st.none() | st.integers(0, 10**12),
        finite,
    )
)
def test_endpoint_survives_json(endpoint: Endpoint) -> None:
    assert codec.endpoint_from_json(through_json(codec.endpoint_to_json(endpoint))) == endpoint  # type: ignore[arg-type]


@given(
    st.builds(
        Client,
        words,
        words,
        st.sampled_from(Protocol),
        words,
        st.lists(words).map(tuple),
        words,
        st.lists(words).map(tuple),
        env=st.dictionaries(words, words, max_size=3),
    )
)
def test_client_survives_json(client: Client) -> None:
    assert codec.client_from_json(through_json(codec.client_to_json(client))) == client  # type: ignore[arg-type]


@given(st.text(st.characters(codec=None)))
def test_storable_text_is_what_postgresql_takes(text: str) -> None:
    stored = codec.storable(text)
    assert stored is not None
    assert "\x00" not in stored
    stored.encode("utf-8")


@given(words, st.integers(0, 2**63 - 1))
def test_cursor_survives(text: str, number: int) -> None:
    cursor = paging.encode(text, number)
    assert paging.decode(cursor, str, int) == [text, number]


@given(st.text(max_size=50))
def test_any_other_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        paging.decode(cursor, str, str, int)
    assert caught.value.field == "cursor"


@pytest.mark.parametrize("proof", [None, LinkProof(DirectionCounters(1, 2, 3, 4), DirectionCounters(5, 6, 7, 8))])
@pytest.mark.parametrize("page", [None, PageLoad(18, 400, 500, 1, {"h2": 18}, 1.5, 0.7, None, 0, 3, ("ads.example",))])
def test_a_page_is_kept_beside_the_proof_of_the_link(proof: LinkProof | None, page: PageLoad | None) -> None:
    seen = Observation(datetime.now(UTC), None, Failure(FailureKind.TIMEOUT, ""), 1, page=page)
    stored = through_json(codec.trial_proof_to_json(Trial(1, "c-h2", 0, seen, proof)))
    assert codec.link_proof_from_json(stored) == proof  # type: ignore[arg-type]
    assert codec.page_from_json(stored) == page  # type: ignore[arg-type]
