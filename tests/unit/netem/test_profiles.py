"""The catalogue of profiles."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastbyte.domain.errors import InvalidInput, UnknownName
from lastbyte.domain.impairment import Slot
from lastbyte.domain.loss import GilbertElliott
from lastbyte.domain.profile import Impairment
from lastbyte.domain.timeline import Change, Step, Timeline
from netem.profiles import EXTRA_FILE_VARIABLE, find_profile, load_profiles, parse_profiles

CORE = ("baseline", "loss-0.1", "loss-1", "delay-50", "delay-100", "unshaped")


def test_the_first_six_are_what_their_names_say() -> None:
    profiles = load_profiles()
    assert tuple(profiles)[:6] == CORE
    for name in CORE:
        profile = profiles[name]
        assert profile.downlink == profile.uplink
        assert profile.rate_mbit_s == (None if name == "unshaped" else 10)
    assert [profiles[name].loss_pct for name in CORE[:3]] == [0, 0.1, 1]
    assert [profiles[name].extra_rtt_ms for name in ("baseline", "delay-50", "delay-100")] == [0, 50, 100]
    assert profiles["unshaped"].downlink.is_clear


def test_every_built_in_profile_says_what_it_is_and_where_it_comes_from() -> None:
    profiles = load_profiles()
    assert len(profiles) >= 60
    for name, profile in profiles.items():
        assert profile.name == name
        assert profile.description
        assert profile.group
        assert len(profile.source) > 20
        profile.validate()


def test_presets_carry_the_figures_of_their_sources() -> None:
    profiles = load_profiles()
    assert profiles["burst-0.3"].loss_pct == pytest.approx(0.3, abs=1e-4)
    assert profiles["jitter-100-30"].rtt_spread_ms == 30
    assert profiles["100m-delay-120"].downlink.delay_ms == 120
    assert profiles["100m-delay-120"].uplink.delay_ms == 0
    assert profiles["lag-25-reorder-5-loss-1"].downlink.reorder_pct == 5
    assert profiles["wifi-lossy"].loss_pct == pytest.approx(1, abs=1e-3)
    assert profiles["satellite-leo"].loss_pct == pytest.approx(0.5, abs=1e-3)
    # name: down and up in Mbit/s, round trip in ms (WebPageTest's settings/connectivity.ini)
    for name, figures in {
        "cable": (5, 1, 28),
        "dsl": (1.5, 0.384, 50),
        "3g": (1.6, 0.768, 300),
        "lte": (12, 12, 70),
    }.items():
        profile = profiles[name]
        assert (profile.downlink.rate_mbit_s, profile.uplink.rate_mbit_s, profile.extra_rtt_ms) == figures


def test_the_documentation_names_every_field_and_every_preset() -> None:
    text = (Path(__file__).parents[3] / "docs" / "profiles.md").read_text()
    names = [*load_profiles(), *(item.name for item in fields(Impairment))]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_a_group_gives_its_profiles_a_heading_and_a_source() -> None:
    text = {"groups": {"g": {"title": "Mine", "source": "measured"}}}
    profiles = parse_profiles({**text, "profiles": {"a": {"group": "g"}, "b": {"group": "other", "source": "x"}}}, "t")
    assert (profiles["a"].group, profiles["a"].source) == ("Mine", "measured")
    assert (profiles["b"].group, profiles["b"].source) == ("other", "x")


def test_everything_that_can_be_said_is_read() -> None:
    both = {
        "delay_ms": 20, "jitter_ms": 5, "jitter_distribution": "normal", "rate_mbit_s": 10, "queue_bdp": 1.5,
        "loss_gemodel": {"p_pct": 1, "r_pct": 10}, "reorder_pct": 1, "reorder_gap": 5, "duplicate_pct": 1,
        "corrupt_pct": 0.1, "slot": {"min_ms": 2, "packets": 3},
    }  # fmt: skip
    steps = [{"at_ms": 100, "both": {"rate_share": 0.1}, "uplink": {"delay_ms": 1}}, {"at_ms": 300}]
    body = {"both": both, "timeline": {"repeat_every_ms": 1000, "steps": steps}}
    profile = parse_profiles({"profiles": {"x": body}}, "t")["x"]
    assert profile.downlink.loss_gemodel == GilbertElliott(1, 10)
    assert profile.downlink.slot == Slot(2, packets=3)
    assert profile.timeline == Timeline(
        (Step(100, Change(rate_share=0.1), Change(rate_share=0.1, delay_ms=1)), Step(300)), 1000
    )


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
        ("[profiles.x.both]\nrate_mbit_s = 1\nqueue_bdp = 0", r"x\.downlink\.queue_bdp: 0\.0 is out of range"),
        ("[profiles.x.both]\nqueue_bdp = 1", r"x\.downlink\.queue_bdp: has no product without a rate"),
        ("[profiles.x.both]\njitter_distribution = 'gauss'", r"no distribution 'gauss'\. Known: uniform, normal"),
        ("[profiles.x.both]\njitter_distribution = 1", r"jitter_distribution: 1 is not text"),
        (
            "[profiles.x.both]\nloss_pct = 1\nloss_state = {p13_pct = 1, p31_pct = 9}",
            r"loss_state: can't be had together",
        ),
        ("[profiles.x.both]\nloss_gemodel = {p_pct = 1}", r"x\.both\.loss_gemodel\.r_pct: is missing"),
        ("[profiles.x.both]\nloss_gemodel = {p_pct = 1, r_pct = 0}", r"r_pct: 0 never leaves the bad state"),
        ("[profiles.x.both]\nloss_state = {p13_pct = 60, p31_pct = 9, p14_pct = 50}", r"add up to 110 %"),
        ("[profiles.x.both]\nloss_correlation_pct = 25", r"loss_correlation_pct: says nothing without loss_pct"),
        ("[profiles.x.both]\nreorder_gap = 5", r"reorder_gap: says nothing without reorder_pct"),
        ("[profiles.x.both]\nslot = {min_ms = 5, max_ms = 2}", r"x\.downlink\.slot\.max_ms: 2\.0 is out of range"),
        ("[profiles.x.timeline]\nsteps = 1", r"x\.timeline\.steps: 1 is not a list"),
        ("[profiles.x.timeline]\nsteps = []", r"x\.timeline\.steps: 0 steps"),
        ("[profiles.x.timeline]\nsteps = [{}]", r"steps\.0\.at_ms: is missing"),
        (
            "[profiles.x.timeline]\nsteps = [{at_ms = 9}, {at_ms = 10}]",
            r"steps\.1\.at_ms: 10 is not at least 5 ms after",
        ),
        (
            "[profiles.x.timeline]\nsteps = [{at_ms = 9, both = {rate_share = 1}}]",
            r"downlink\.rate_share: needs a profile",
        ),
        ("[profiles.x.timeline]\nsteps = [{at_ms = 9, both = {loss_pct = 101}}]", r"steps\.0\.downlink\.loss_pct: 101"),
        (
            "[profiles.x.timeline]\nrepeat_every_ms = 9\nsteps = [{at_ms = 9}]",
            r"timeline\.repeat_every_ms: 9 is out of",
        ),
        ("[groups.g]\nname = 1", r"groups\.g\.name: is not known"),
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
        st.sampled_from(
            ["profiles", "both", "uplink", "delay_ms", "queue_packets", "description", "x", "timeline", "steps", "slot"]
        ),
        inner,
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
