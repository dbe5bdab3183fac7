"""Segmentation and receive offloads of an interface, by the ioctl behind ethtool(8).

netem delays, drops and counts what the kernel hands it: with offloads on, that can be a 64 KB super-packet, one loss of
which is 45 losses; and TCP would be merged where UDP is not. So every interface of a path has them off.

Standard library only and free of other modules of this project: the guest of the ``uml`` box runs this very file.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import sys

_SIOCETHTOOL = 0x8946  # linux/sockios.h
_SIOCGIFHWADDR = 0x8927

# linux/ethtool.h: name -> (get command, set command)
_COMMANDS = {
    "rx-checksum": (0x14, 0x15),
    "tx-checksum": (0x16, 0x17),
    "tso": (0x1E, 0x1F),
    "gso": (0x23, 0x24),
    "gro": (0x2B, 0x2C),
}
SEGMENTATION = ("tso", "gso", "gro")
"""What makes packets larger than the MTU."""


def get(device: str, feature: str) -> bool:
    """Whether the feature is on; raises OSError when there is no such interface."""
    return bool(_ioctl(device, _COMMANDS[feature][0], 0))


def set_off(device: str, feature: str) -> None:
    """Turn the feature off; raises OSError when it can't be."""
    if get(device, feature):
        _ioctl(device, _COMMANDS[feature][1], 0)
        if get(device, feature):
            raise OSError(f"{feature} of {device} can't be turned off")


def offloads_off(device: str, *, tx_checksum: bool = True) -> None:
    """Turn off all that changes the size of packets, and checksum offload too unless ``tx_checksum`` is False."""
    for feature in SEGMENTATION:
        set_off(device, feature)
    if tx_checksum:
        set_off(device, "tx-checksum")


def mac_address(device: str) -> str:
    """Hardware address, as ip(8) writes it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        answer = fcntl.ioctl(sock, _SIOCGIFHWADDR, struct.pack("256s", device.encode()))
    return answer[18:24].hex(":")


def _ioctl(device: str, command: int, value: int) -> int:
    request = array.array("B", struct.pack("II", command, value))
    address, _ = request.buffer_info()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCETHTOOL, struct.pack("16sP", device.encode(), address))
    return int(struct.unpack("II", request.tobytes())[1])


if __name__ == "__main__":
    for name in sys.argv[1:]:
        offloads_off(name, tx_checksum=False)
