from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lastbyte.provision.apt_sources import AptSource, debian_archive, parse_deb822, parse_one_line, read_sources

DEB822 = """\
# the archive
Types: deb
# a comment between the fields
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm
Components: main
"""


def test_deb822_leaves_out_disabled_and_source_archives() -> None:
    found = list(parse_deb822(DEB822))
    assert [source.uri for source in found] == [
        "http://mirror.example/debian",
        "http://mirror.example/debian-security",
    ]
    assert found[0].suites == ("bookworm", "bookworm-updates")
    assert found[0].signed_by == "/usr/share/keyrings/debian-archive-keyring.gpg"


def test_a_key_inside_the_stanza_keeps_its_lines() -> None:
    text = (
        "Types: deb\nURIs: http://m.example/debian\nSuites: trixie\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n"
    )
    (source,) = parse_deb822(text)
    assert source.signed_by.splitlines() == [
        "-----BEGIN PGP PUBLIC KEY BLOCK-----",
        "",
        "mQINBF",
        "-----END PGP PUBLIC KEY BLOCK-----",
    ]


def test_one_line_sources_with_and_without_options() -> None:
    text = (
        "deb http://m.example/debian bookworm main contrib # comment\n"
        "  deb [arch=amd64 signed-by=/k.gpg] https://m.example/debian trixie main\n"
        "deb-src http://m.example/debian bookworm main\n"
        "# deb http://off.example/debian bookworm main\n"
        "deb\n"
    )
    assert list(parse_one_line(text)) == [
        AptSource("http://m.example/debian", ("bookworm",), ("main", "contrib")),
        AptSource("https://m.example/debian", ("trixie",), ("main",), "/k.gpg"),
    ]


def test_the_debian_archive_is_told_from_security_and_from_others(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "a.list").write_text("deb https://tools.example/apt nodistro main\n")
    (parts / "b.sources").write_text(DEB822)
    (parts / "c.sources.disabled").write_text(DEB822.replace("mirror", "wrong"))
    sources = read_sources(tmp_path)
    found = debian_archive(sources, "bookworm")
    assert found is not None
    assert found.uri == "http://mirror.example/debian"
    assert debian_archive(sources, "noble") is None
    assert read_sources(tmp_path / "missing") == []


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    for source in (*parse_deb822(text), *parse_one_line(text)):
        assert source.uri
