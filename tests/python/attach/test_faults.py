# SPDX-License-Identifier: Apache-2.0
"""Does the tests' network lose, repeat and reorder frames at the given rates?"""

from __future__ import annotations

import json
import sys

import pytest
from bridge import Bridge, Faults, needs_faults

FRAMES = 20_000
SENDS = f"""
import json, socket, time
here, there = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for _ in range(2))
here.bind(("tw0", 0))
there.bind(("tw1", 0))
there.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
there.setblocking(False)
came = []

def take():
    try:
        while True:
            came.append(int.from_bytes(there.recv(9216)[14:18], "big"))
    except BlockingIOError:
        pass

for number in range({FRAMES}):
    here.send(bytes.fromhex("020000000001020000000000" "88b5") + number.to_bytes(4, "big") + bytes(9000))
    take()
    if number % 20 == 0:  # as fast as the relay is
        time.sleep(0.002)
for _ in range(10):
    time.sleep(0.1)
    take()
print(json.dumps(came))
"""


@needs_faults
@pytest.mark.slow
def test_the_network_loses_repeats_and_reorders(seed: int) -> None:
    with Bridge(2, faults=Faults(lost=0.02, repeated=0.01, late=0.05, late_ms=3, seed=seed)) as net:
        came = json.loads(net.run(sys.executable, "-c", SENDS))
        counted = net.counted()
    assert len(came) == FRAMES - counted["lost-port0"] + counted["repeated-port0"] == counted["passed-1"]
    assert len(came) - len(set(came)) == counted["repeated-port0"]
    newest, overtaken = -1, 0
    for number in came:
        overtaken += number < newest
        newest = max(newest, number)
    assert overtaken == pytest.approx(counted["overtaken-1"], abs=counted["repeated-port0"])
    # Within five standard deviations of an independent draw for each frame.
    for count, share in ((counted["lost-port0"], 0.02), (counted["repeated-port0"], 0.01)):
        assert abs(count - FRAMES * share) < 5 * (FRAMES * share) ** 0.5
    assert 0.02 * FRAMES < overtaken <= 0.06 * FRAMES
