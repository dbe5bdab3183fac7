"""The picture of acknowledged bytes, and the section with the files."""

from __future__ import annotations

from typing import Any

from dashboard.figures.acks import acks_figure, summary
from dashboard.figures.palette import palette
from dashboard.pages import acks as page
from dashboard.pages.place import Place

PLACE = Place("/x", {}, "UTC", "light")


def trial(protocol: str, client: str = "", round_index: int = -1, *, broken: bool = False) -> dict[str, Any]:
    file = {"id": 5, "kind": "pcap", "file_name": "a.pcap", "bytes": 1000, "download": "/api/v1/artifacts/5"}
    gone = {"id": 6, "kind": "qlog", "file_name": "a.sqlog", "bytes": 0, "download": None, "dropped_reason": "too big"}
    return {
        "trial_id": 1,
        "client": client or f"curl-{protocol}",
        "protocol": protocol,
        "round": round_index,
        "artifacts": [file, gone],
        "problem": {"kind": "wrong-key-log", "detail": "Keys of another connection."} if broken else None,
        "trace": None
        if broken
        else {
            "at_ms": [20.0, 40.0, 140.0],
            "acked_bytes": [0, 2500, 5000],
            "source": "pcap",
            "note": "",
            "retransmitted": [{"at_ms": 139.0, "byte_count": 1250}],
        },
        "figures": None
        if broken
        else {
            "acks": 3,
            "acked_bytes": 5000,
            "last_ms": 140.0,
            "slope_mbit_s": None,
            "slow_start_exit_ms": None,
            "retransmitted_bytes": 1250,
            "stalled_ms": 100.0,
            "stalls": [{"start_ms": 40.0, "end_ms": 140.0, "acked_bytes": 2500}],
        },
    }


def test_a_dot_per_acknowledgement_joined_by_a_thin_line_red_h2_blue_h3() -> None:
    pal = palette("light")
    figure = acks_figure([trial("h2"), trial("h3")])
    h2, h3 = figure.data[:2]
    assert (h2.marker.color, h3.marker.color) == (pal.h2, pal.h3)
    assert h2.marker.symbol != h3.marker.symbol
    assert (h2.mode, h2.line.width) == ("lines+markers", 1)
    assert list(h2.x) == [20.0, 40.0, 140.0]
    assert list(h2.y) == [0.0, 2.5, 5.0]
    assert "ms" in figure.layout.xaxis.title.text
    assert "KB" in figure.layout.yaxis.title.text


def test_stalls_and_data_sent_again_are_marked() -> None:
    figure = acks_figure([trial("h3")])
    again, stall = figure.data[1:]
    assert (list(again.x), list(again.y)) == ([139.0], [2.5])
    assert list(stall.x) == [40.0, 140.0, None]
    assert stall.line.width > 5


def test_clients_of_one_protocol_are_told_apart_and_unreadable_ones_left_out() -> None:
    figure = acks_figure([trial("h3", "a"), trial("h3", "b"), trial("h3", "a", -2), trial("h3", "c", broken=True)])
    drawn = [data for data in figure.data if data.mode == "lines+markers"]
    assert len(drawn) == 3
    assert len({(data.marker.color, data.marker.symbol) for data in drawn}) == 2
    assert [data.name for data in drawn] == ["H3 (a)", "H3 (b)", "H3 (a, capture 2)"]
    assert "1 stalls of 100 ms" in summary([trial("h2")])


class Api:
    def cell_acks(self, cell_id: int) -> list[dict[str, Any]]:
        return [trial("h2"), trial("h3", broken=True)]


def test_the_section_links_files_and_says_why_one_lacks() -> None:
    shown = page.section(Api(), PLACE, {"cell_id": 3}, [{"capture": True}])  # type: ignore[arg-type]
    text = str(shown)
    assert "/artifact/5" in text
    assert "no qlog: too big" in text
    assert "Keys of another connection." in text
    assert page.section(Api(), PLACE, {"cell_id": 3}, [{"capture": False}]) is None  # type: ignore[arg-type]
