"""Keys, scopes, and where the API may listen without them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from api.access import right_for
from api.binding import bound_host, is_loopback, keys_asked_for, refuse_without_keys
from lastbyte.domain.access import ApiKey, Scope
from lastbyte.domain.errors import InvalidInput
from lastbyte.embedded.preflight import check_host
from lastbyte.services.access import REMEMBERED_S, Doorkeeper, create_key, new_key
from lastbyte.settings import KeysWanted, Settings


class Store:
    def __init__(self) -> None:
        self.stored: list[ApiKey] = []
        self.looked_up = 0
        self.touched = 0

    def add(
        self, name: str, prefix: str, digest: str, scope: Scope, expires_at: datetime | None, rate: int | None
    ) -> ApiKey:
        key = ApiKey(len(self.stored) + 1, name, prefix, digest, scope, datetime.now(UTC), expires_at, None, None, rate)
        self.stored.append(key)
        return key

    def find(self, prefix: str) -> ApiKey | None:
        self.looked_up += 1
        return next((key for key in self.stored if key.prefix == prefix), None)

    def touch(self, key_id: int) -> None:
        self.touched += 1

    def any_usable(self) -> bool:
        return bool(self.stored)

    def keys(self) -> list[ApiKey]:
        return self.stored

    def revoke(self, name_or_prefix: str) -> ApiKey:
        raise NotImplementedError


def test_a_key_is_recognised_and_only_its_hash_is_kept() -> None:
    store = Store()
    key, stored = create_key(store, "ci", Scope.SCHEDULE, timedelta(days=1), 30)
    assert key not in repr(stored)
    assert key.split("_", 2)[2] not in repr(stored)
    door = Doorkeeper(store)
    caller = door.recognise(key)
    assert caller is not None
    assert (caller.name, caller.scope, caller.requests_per_minute) == ("ci", Scope.SCHEDULE, 30)
    other = new_key()
    assert door.recognise(other) is None
    assert door.recognise(f"lb_{stored.prefix}_{other.split('_', 2)[2]}") is None
    for nonsense in ("", "lb_", "lb_x_y", "\ud800", "x" * 10_000, key + "x", key[:-1]):
        assert door.recognise(nonsense) is None


def test_lookups_and_notes_of_use_are_spared() -> None:
    store, now = Store(), [0.0]
    key, _ = create_key(store, "ci", Scope.READ)
    door = Doorkeeper(store, clock=lambda: now[0])
    for _ in range(50):
        assert door.recognise(key)
    assert (store.looked_up, store.touched) == (1, 1)
    now[0] = REMEMBERED_S + 0.1
    assert door.recognise(key)
    assert (store.looked_up, store.touched) == (2, 1)


def test_an_expired_key_is_refused_at_once() -> None:
    store = Store()
    key, _ = create_key(store, "ci", Scope.READ, timedelta(milliseconds=1))
    door = Doorkeeper(store)
    deadline = datetime.now(UTC) + timedelta(seconds=1)
    while door.recognise(key) is not None:
        assert datetime.now(UTC) < deadline


def test_the_key_of_the_environment_has_all_rights_and_must_be_long() -> None:
    own = new_key()
    caller = Doorkeeper(Store(), own).recognise(own)
    assert caller is not None
    assert caller.scope is Scope.ADMIN
    with pytest.raises(InvalidInput, match="LASTBYTE_API_KEY"):
        Doorkeeper(Store(), "short")


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        ("GET", "/api/v1/campaigns", Scope.READ),
        ("POST", "/api/v1/campaigns", Scope.SCHEDULE),
        ("POST", "/api/v1/campaigns/estimate", Scope.READ),
        ("POST", "/api/v1/campaigns/0/cancel", Scope.SCHEDULE),
        ("DELETE", "/api/v1/campaigns/0", Scope.ADMIN),
        ("POST", "/api/v1/schedules/preview", Scope.READ),
        ("DELETE", "/api/v1/schedules/1", Scope.SCHEDULE),
        ("POST", "/api/v1/endpoints", Scope.ADMIN),
        ("PUT", "/api/v1/whatever/comes", Scope.ADMIN),
    ],
)
def test_what_a_request_needs(method: str, path: str, right: Scope) -> None:
    assert right_for(method, path) is right


def test_scopes_include_those_before() -> None:
    assert Scope.ADMIN.includes(Scope.READ)
    assert Scope.SCHEDULE.includes(Scope.READ)
    assert not Scope.READ.includes(Scope.SCHEDULE)
    assert not Scope.SCHEDULE.includes(Scope.ADMIN)


def test_where_uvicorn_was_told_to_listen() -> None:
    plain = Settings()
    assert bound_host(plain, ["/x/uvicorn", "--factory", "api.app:create_app", "--host", "0.0.0.0"]) == "0.0.0.0"  # noqa: S104
    assert bound_host(plain, ["/x/uvicorn/__main__.py", "--host=192.0.2.1"]) == "192.0.2.1"
    assert bound_host(plain, ["/x/uvicorn"]) == "127.0.0.1"
    assert bound_host(Settings(api_host="10.0.0.1"), ["/x/api/__main__.py"]) == "10.0.0.1"
    assert bound_host(Settings(api_published="127.0.0.1:8000"), ["uvicorn", "--host", "0.0.0.0"]) == "127.0.0.1"  # noqa: S104
    assert not is_loopback(bound_host(Settings(api_published="8000")))


def test_elsewhere_than_on_loopback_keys_are_asked_for_or_nothing_starts() -> None:
    assert not keys_asked_for(Settings(), "127.0.0.1")
    assert not keys_asked_for(Settings(), "::1")
    assert keys_asked_for(Settings(), "0.0.0.0")  # noqa: S104
    assert keys_asked_for(Settings(keys=KeysWanted.REQUIRED), "127.0.0.1")
    with pytest.raises(InvalidInput, match="where others reach it"):
        keys_asked_for(Settings(keys=KeysWanted.OFF), "192.0.2.1")
    with pytest.raises(InvalidInput, match="there is none"):
        refuse_without_keys(Doorkeeper(Store()), "192.0.2.1")
    refuse_without_keys(Doorkeeper(Store(), new_key()), "192.0.2.1")
    assert "lb_" not in repr(Settings(api_key=SecretStr(new_key())))


def test_up_asks_for_a_key_before_it_listens_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LASTBYTE_API_KEY", raising=False)
    check_host("127.0.0.1")
    with pytest.raises(InvalidInput, match=r"there is no API key.*lastbyte key generate"):
        check_host("0.0.0.0")  # noqa: S104
    monkeypatch.setenv("LASTBYTE_API_KEY", new_key())
    check_host("0.0.0.0")  # noqa: S104
