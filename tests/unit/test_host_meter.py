"""Reading the machine: the files' formats, and what one reading costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lastbyte.adapters.host_meter import ProcHostMeter, cpu_seconds, descendants, parse_cpu, parse_pressure
from lastbyte.ports import HostReading
from lastbyte.services.link import host_use

STAT = "cpu  200 10 100 600 40 0 30 20 5 0\ncpu0 1 2 3\n"


def test_cpu_line_of_proc_stat() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    total, idle, steal = parse_cpu(STAT)
    assert (total * ticks, idle * ticks, steal * ticks) == pytest.approx((1000, 640, 20)), "guest time is in user"


def test_pressure() -> None:
    assert parse_pressure("some avg10=1.00 avg60=0 avg300=0 total=2500000\nfull avg10=0 total=7\n") == 2.5
    assert parse_pressure("") is None


def test_shares_between_two_readings() -> None:
    use = host_use(HostReading(10, 100, 60, 1, 0.5, 3.0, 7.0), HostReading(12, 104, 61, 1.4, 0.7, 4.0, 8.0))
    assert use.elapsed_s == 2
    assert use.busy_share == pytest.approx(0.75)
    assert (use.steal_share, use.steal_s) == pytest.approx((0.1, 0.4))
    assert (use.pressure_share, use.box_cpu_share, use.load1) == (0.5, 0.5, 0.7)


def test_no_tick_between_two_readings_is_no_division_by_zero() -> None:
    reading = HostReading(1, 5, 2, 0, 0)
    use = host_use(reading, reading)
    assert (use.busy_share, use.steal_share, use.box_cpu_share) == (0, 0, None)


def test_a_machine_that_does_not_tell_is_no_error(tmp_path: Path) -> None:
    assert ProcHostMeter(tmp_path).read([]) is None


def test_the_cpu_time_of_a_process_is_told_finer_than_ticks() -> None:
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        first = cpu_seconds([child.pid])
        time.sleep(0.1)
        assert cpu_seconds([child.pid]) > first > 0.01
    finally:
        child.kill()
        child.wait()
    assert cpu_seconds([child.pid]) == 0, "gone"


def test_a_reading_costs_well_below_a_millisecond() -> None:
    meter = ProcHostMeter()
    costs = []
    for _ in range(50):
        start = time.perf_counter()
        assert meter.read([os.getpid()]) is not None
        costs.append(time.perf_counter() - start)
    assert sorted(costs)[25] < 0.001


def test_what_the_client_side_is_set_to_is_recorded() -> None:
    said = ProcHostMeter().describe([])
    assert said["kernel"] == os.uname().release
    assert isinstance(said["rmem_default"], int)
    assert said["tcp_congestion_control"]


def test_grandchildren_are_found_by_name_and_strangers_are_not() -> None:
    shell = subprocess.Popen(["sh", "-c", "sleep 30 & wait"])
    try:
        deadline = time.monotonic() + 5
        while not descendants("sleep") and time.monotonic() < deadline:
            time.sleep(0.01)
        (found,) = descendants("sleep")
        assert descendants("no-such-program") == []
        os.kill(found, 15)
    finally:
        shell.wait()
    assert descendants("sleep") == []
