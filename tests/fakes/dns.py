"""A real DNS server on loopback with scripted answers, and a way to have a program use it."""

from __future__ import annotations

import ipaddress
import socket
import struct
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

_A, _AAAA = 1, 28


class DnsServer:
    """Answers A and AAAA questions over UDP; of several lists for a name each question takes the next."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]], address: str = "127.77.0.1") -> None:
        self._answers = {name: list(lists) for name, lists in answers.items()}
        self.asked: list[str] = []
        self.address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wake:
            wake.sendto(b"", (self.address, 53))
        self._thread.join(5)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, sender = self._socket.recvfrom(512)
            if not question:
                return
            self._socket.sendto(self._answer(question), sender)

    def _answer(self, question: bytes) -> bytes:
        labels, place = [], 12
        while question[place]:
            length = question[place]
            labels.append(question[place + 1 : place + 1 + length].decode())
            place += 1 + length
        kind = struct.unpack("!H", question[place + 1 : place + 3])[0]
        name = ".".join(labels).lower()
        found = []
        if name in self._answers:
            lists = self._answers[name]
            if kind == _A:
                self.asked.append(name)
            # A and AAAA of one lookup belong together: the second one moves on
            current = lists[0]
            if kind == _AAAA and len(lists) > 1:
                lists.pop(0)
            found = [ipaddress.ip_address(address) for address in current]
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(address.packed)) + address.packed
            for address in found
            if address.version == (4 if kind == _A else 6) and kind in (_A, _AAAA)
        )
        count = sum(address.version == (4 if kind == _A else 6) for address in found)
        status = 0x8180 if name in self._answers else 0x8183
        header = question[:2] + struct.pack("!HHHHH", status, 1, count, 0, 0)
        return header + question[12 : place + 5] + records
