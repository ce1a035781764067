# SPDX-License-Identifier: Apache-2.0
"""Passes frames between two interfaces, and delays some of them, so that others overtake them: `relay.py ONE OTHER
SHARE MS SEED`.

For kernels without netem. Each frame is late with probability SHARE, by up to MS milliseconds. At the end (SIGTERM) it
prints, as JSON, for each direction the number of frames passed and the number of these that were overtaken.
"""

from __future__ import annotations

import heapq
import json
import random
import select
import signal
import socket
import sys
import time

LONGEST = 9300
ROOM = 1 << 24  #: bytes of a socket
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
ETH_P_ALL = 3


def opened(name: str) -> socket.socket:
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    for option in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        made.setsockopt(socket.SOL_SOCKET, option, ROOM)
    made.bind((name, ETH_P_ALL))
    made.setblocking(False)
    return made


def main(one: str, other: str, share: float, late_s: float, draw: random.Random) -> None:
    ends = [opened(one), opened(other)]
    passed, overtaken, newest = [0, 0], [0, 0], [-1, -1]
    held: list[tuple[float, int, int, bytes]] = []  # due time, number, destination, and frame
    number = 0
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    def forward(to: int, which: int, frame: bytes | memoryview) -> None:
        passed[to] += 1
        overtaken[to] += which < newest[to]
        newest[to] = max(newest[to], which)
        while True:
            try:
                ends[to].send(frame)
                return
            except (BlockingIOError, OSError) as error:
                if not isinstance(error, BlockingIOError) and error.errno != 105:  # ENOBUFS
                    raise
                time.sleep(0.0001)

    signal.signal(signal.SIGTERM, end)
    print("relays", flush=True)
    room = memoryview(bytearray(LONGEST))
    while not ended:
        wait = max(0.0, held[0][0] - time.monotonic()) if held else 0.1
        ready, _, _ = select.select(ends, [], [], wait)
        for end_ in ready:
            to = 1 - ends.index(end_)
            for _ in range(64):
                try:
                    size = end_.recv_into(room)
                except BlockingIOError:
                    break
                number += 1
                if draw.random() < share:
                    heapq.heappush(held, (time.monotonic() + draw.uniform(0, late_s), number, to, bytes(room[:size])))
                else:
                    forward(to, number, room[:size])
        while held and held[0][0] <= time.monotonic():
            _, which, to, frame = heapq.heappop(held)
            forward(to, which, frame)
    print(json.dumps({"passed": passed, "overtaken": overtaken}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]) / 1e3, random.Random(int(sys.argv[5])))
