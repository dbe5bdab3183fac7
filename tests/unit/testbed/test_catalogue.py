import hashlib
import zlib
from pathlib import Path

from lastbyte.domain.endpoint import EndpointKind, Origin
from testbed import catalogue
from testbed.objects import content, write_objects


def test_objects_and_pages_named_as_the_testbeds() -> None:
    found = catalogue.endpoints()
    assert [endpoint.kind for endpoint in found] == [EndpointKind.OBJECT] * 9 + [EndpointKind.PAGE] * 9
    assert all(e.id.startswith("testbed-") and e.host.endswith(".test") for e in found)
    assert {e.origin for e in found} == {Origin.TESTBED}
    one = next(e for e in found if e.id == "testbed-haproxy-5MB")
    assert (one.url, one.expected_bytes, one.base_rtt_ms) == (
        "https://testbed-haproxy.test/5MB.bin",
        5_000_000,
        40.0,
    )


def test_every_host_has_an_address_of_its_own() -> None:
    both = catalogue.addresses()
    assert len(both) == len(set(both)) == 2 * len(catalogue.addresses(with_ipv6=False))


def test_objects_are_the_same_on_every_machine_and_do_not_compress(tmp_path: Path) -> None:
    digests = write_objects(tmp_path)
    assert digests == catalogue.DIGESTS
    for label, size in catalogue.OBJECTS.items():
        data = (tmp_path / f"{label}.bin").read_bytes()
        assert len(data) == size
        assert hashlib.sha256(data).hexdigest() == digests[label]
    assert len(zlib.compress(content("100KB"))) > 100_000


def test_a_damaged_object_is_written_anew(tmp_path: Path) -> None:
    write_objects(tmp_path)
    (tmp_path / "1MB.bin").write_bytes(bytes(1_000_000))
    write_objects(tmp_path)
    assert (tmp_path / "1MB.bin").read_bytes() == content("1MB")
