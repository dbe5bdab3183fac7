"""What a client received: distinct bytes, repeated bytes, and gaps that were filled late."""

from __future__ import annotations

from aioquic.quic.rangeset import RangeSet

from lastbyte.domain.acks import Piece

LATE_PACKETS = 3
"""Packets after which a gap counts as a loss: kPacketThreshold of RFC 9002, 6.1.1."""


def covered(ranges: RangeSet) -> int:
    """Bytes in the ranges."""
    return sum(len(item) for item in ranges)


class Received:
    """Bytes of one stream (a TCP connection's is one) in the order in which they came."""

    def __init__(self) -> None:
        self.ranges = RangeSet()
        self.duplicate_bytes = 0
        self.retransmitted: list[Piece] = []
        self._holes: list[tuple[int, int, int]] = []  # start, stop, the packet that opened it
        self._packets = 0
        self._highest = 0

    def add(self, at_ms: float, start: int, stop: int) -> None:
        """Bytes from ``start`` to before ``stop`` came."""
        if stop <= start:
            return
        self._packets += 1
        before = covered(self.ranges)
        self.ranges.add(start, stop)
        repeated = (stop - start) - (covered(self.ranges) - before)
        self.duplicate_bytes += repeated
        late = repeated + self._fill(start, stop)
        if late:
            self.retransmitted.append(Piece(at_ms, late))
        if start > self._highest:
            self._holes.append((self._highest, start, self._packets))
        self._highest = max(self._highest, stop)

    def _fill(self, start: int, stop: int) -> int:
        """Take the bytes out of the holes; gives how many of them were late."""
        late = 0
        left: list[tuple[int, int, int]] = []
        for begin, end, opened in self._holes:
            low, high = max(begin, start), min(end, stop)
            if low >= high:
                left.append((begin, end, opened))
                continue
            late += high - low if self._packets - opened >= LATE_PACKETS else 0
            left += [(a, b, opened) for a, b in ((begin, low), (high, end)) if a < b]
        self._holes = left
        return late
