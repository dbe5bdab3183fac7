"""The catalogue of profiles."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.errors import InvalidInput, UnknownName
from netem.profiles import EXTRA_FILE_VARIABLE, find_profile, load_profiles, parse_profiles


def test_the_built_in_profiles_are_what_their_names_say() -> None:
    profiles = load_profiles()
    assert {"baseline", "loss-0.1", "loss-1", "delay-50", "delay-100", "unshaped"} <= set(profiles)
    for name, profile in profiles.items():
        assert profile.name == name
        assert profile.description
        assert profile.downlink == profile.uplink
        assert profile.rate_mbit_s == (None if name == "unshaped" else 10)
    assert [profiles[name].loss_pct for name in ("baseline", "loss-0.1", "loss-1")] == [0, 0.1, 1]
    assert [profiles[name].extra_rtt_ms for name in ("baseline", "delay-50", "delay-100")] == [0, 50, 100]
    assert profiles["unshaped"].downlink.is_clear


def test_a_users_file_adds_and_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[profiles.adsl]\ndescription = 'asymmetric'\n[profiles.adsl.both]\ndelay_ms = 10\n"
        "[profiles.adsl.downlink]\nrate_mbit_s = 16\n[profiles.adsl.uplink]\nrate_mbit_s = 1\n"
        "[profiles.baseline.both]\nrate_mbit_s = 20\n"
    )
    monkeypatch.setenv(EXTRA_FILE_VARIABLE, str(file))
    adsl = find_profile("adsl")
    assert (adsl.downlink.rate_mbit_s, adsl.uplink.rate_mbit_s, adsl.extra_rtt_ms) == (16, 1, 20)
    assert find_profile("baseline").rate_mbit_s == 20


def test_an_unknown_name_lists_those_known() -> None:
    with pytest.raises(UnknownName, match=r"no profile 'slow'.*baseline.*unshaped"):
        find_profile("slow")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[profiles.x.both]\nloss_pct = 101", r"mine\.toml: x\.downlink\.loss_pct: 101"),
        ("[profiles.x.uplink]\ndelay_ms = -1", r"mine\.toml: x\.uplink\.delay_ms"),
        ("[profiles.x.uplink]\nrate_mbit_s = 0", r"mine\.toml: x\.uplink\.rate_mbit_s"),
        ("[profiles.x.uplink]\nrate_mbit_s = '10'", r"mine\.toml: x\.uplink\.rate_mbit_s: '10' is not a number"),
        ("[profiles.x.uplink]\nrate_mbit_s = true", r"is not a number"),
        ("[profiles.x.uplink]\nrate_mbit_s = nan", r"mine\.toml: x\.uplink\.rate_mbit_s"),
        ("[profiles.x.uplink]\nqueue_packets = 1.5", r"queue_packets: 1\.5 is not a whole number"),
        ("[profiles.x.uplink]\nrate = 10", r"mine\.toml: x\.uplink\.rate: is not known\. Known: delay_ms"),
        ("[profiles.x]\nsideways = 1", r"x\.sideways: is not known"),
        ("[profiles.x]\nboth = 1", r"x\.both: 1 is not a table"),
        ("[profiles.x]\ndescription = 1", r"x\.description: must be text"),
        ("[profiles.'a b']", r"mine\.toml: a b: is not a usable name"),
        ("[other]", r"mine\.toml: other: is not known"),
        ("profiles = 3", r"profiles: 3 is not a table"),
        ("[[[", r"mine\.toml: is not valid TOML"),
    ],
)
def test_bad_data_is_named(text: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    monkeypatch.setenv(EXTRA_FILE_VARIABLE, str(file))
    with pytest.raises(InvalidInput, match=complaint):
        load_profiles()


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXTRA_FILE_VARIABLE, str(tmp_path / "none.toml"))
    with pytest.raises(InvalidInput, match=r"none\.toml: can't be read: No such file"):
        load_profiles()


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.dictionaries(
        st.sampled_from(["profiles", "both", "uplink", "delay_ms", "queue_packets", "description", "x"]), inner
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["profiles", "x"]), json_like))
def test_no_document_gives_anything_but_valid_profiles_or_invalid_input(document: dict[str, object]) -> None:
    try:
        profiles = parse_profiles(document, "generated")
    except InvalidInput:
        return
    for profile in profiles.values():
        profile.validate()
