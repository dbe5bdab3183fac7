import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lastbyte.domain.errors import InvalidInput
from lastbyte.provision.secrets import Folders, ensure
from lastbyte.settings import Settings


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "app", tmp_path / "postgres", tmp_path / "redis")
    for folder in (found.app, found.postgres, found.redis):
        folder.mkdir()
    return found


def settings_in(folder: Path) -> Settings:
    return Settings(_secrets_dir=folder)  # type: ignore[call-arg]


def test_what_is_made_is_printed_once_and_stays(folders: Folders) -> None:
    said = ensure(folders, {})
    password = (folders.postgres / "postgres_password").read_text()
    assert len(password) > 20
    assert any(password in line for line in said)
    again = ensure(folders, {})
    assert password not in " ".join(again)
    assert (folders.postgres / "postgres_password").read_text() == password


def test_every_service_finds_the_same_password(folders: Folders) -> None:
    ensure(folders, {})
    found = settings_in(folders.app)
    assert urlsplit(found.database_url).password == (folders.postgres / "postgres_password").read_text()
    password = urlsplit(found.broker_url).password
    assert f"requirepass {password}\n" in (folders.redis / "redis.conf").read_text()
    assert stat.S_IMODE((folders.app / "lastbyte_broker_url").stat().st_mode) == 0o444


def test_a_chosen_password_is_used_and_not_printed(folders: Folders) -> None:
    said = ensure(folders, {"LASTBYTE_POSTGRES_PASSWORD": "s3cret/with@signs", "LASTBYTE_REDIS_PASSWORD": "other"})
    assert "s3cret" not in " ".join(said)
    assert "s3cret%2Fwith%40signs@postgres" in settings_in(folders.app).database_url


def test_a_later_change_is_said_and_not_made(folders: Folders) -> None:
    ensure(folders, {"LASTBYTE_REDIS_PASSWORD": "first"})
    said = ensure(folders, {"LASTBYTE_REDIS_PASSWORD": "second"})
    assert any("LASTBYTE_REDIS_PASSWORD is not the password" in line for line in said)
    assert (folders.redis / "redis_password").read_text() == "first"


def test_a_password_that_a_configuration_cannot_hold_is_refused(folders: Folders) -> None:
    with pytest.raises(InvalidInput, match="LASTBYTE_REDIS_PASSWORD"):
        ensure(folders, {"LASTBYTE_REDIS_PASSWORD": "two words"})


def test_the_environment_goes_before_a_file(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(folders, {})
    monkeypatch.setenv("LASTBYTE_BROKER_URL", "redis://elsewhere/0")
    assert settings_in(folders.app).broker_url == "redis://elsewhere/0"
