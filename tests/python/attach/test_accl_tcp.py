# SPDX-License-Identifier: Apache-2.0
"""A simulated board with TCP and a plain socket of Linux, which is a second implementation of TCP: does all arrive, whoever opens the connection, over a network
that loses, repeats and delays frames?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bridge import Bridge, Faults, needs_bridge, needs_faults
from thalweg.resources import resource

#: Linux leaves checksums and segments to the network card, which is the other end of the veth here: ETHTOOL_STXCSUM, ETHTOOL_SGSO, ETHTOOL_STSO.
OFFLOADS = """
import fcntl, socket, struct, array, sys
for command in (0x17, 0x24, 0x1F):
    value = array.array("I", [command, 0])
    request = struct.pack("16sP8x", sys.argv[1].encode(), value.buffer_info()[0])
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)  # SIOCETHTOOL
"""

#: Takes the engine's packets of `bytes` bytes of data in all, and sends each back as if rank `argv[2]` had sent it.
ECHO = """
import socket, struct, sys
left, rank, window = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
made = socket.socket()
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if window:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
made.bind((f"10.0.0.{rank + 1}", 5500 if rank == 1 else 0))
if rank == 1:
    made.listen()
    print("ready", flush=True)
    peer, (address, _) = made.accept()
    assert address == "10.0.0.1"
else:
    print("ready", flush=True)
    while made.connect_ex(("10.0.0.2", 5500)):
        pass
    peer = made
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
stream = peer.makefile("rb", 1 << 20)
while left:
    header = bytearray(stream.read(64))
    (size,) = struct.unpack_from("<I", header, 52)  # `base`
    data = stream.read(size)
    assert header[0] == 2 and header[1] == 7 and len(data) == size, header
    struct.pack_into("<H", header, 2, rank)
    peer.sendall(header + data)
    left -= size
print("sent all back", flush=True)
assert stream.read() == b""  # until the board closes
info = struct.unpack("8B24I", peer.getsockopt(socket.IPPROTO_TCP, 11, 104))  # TCP_INFO
print("retransmitted", info[8 + 23], flush=True)
"""

BOARD = """
import sys
import numpy as np
from thalweg.accl import run_attached

def program(rank):
    words, messages = 1 << 18, int(sys.argv[1])
    buffer = rank.create_buffer(words, "int32")
    for number in range(messages):
        data = np.random.default_rng(number).integers(-2**31, 2**31, words, dtype=np.int32)
        buffer.array[:] = data
        rank.kernel().stream_put(buffer, words, 1 - rank.rank, stream_id=7)
        while not (packets := rank.pull("int32")):
            rank.pause(20)
        (packet,) = packets
        assert packet.stream == 7 and np.array_equal(packet.data, data), number
    return messages

cluster, node, pcap = sys.argv[2], int(sys.argv[3]), sys.argv[4]
result = run_attached(program, node, 2, f"tw{node}", cluster, limit_s=280, buffer_bytes=8192, pcap=pcap)
print(result.values, result.lost)
"""


def cluster(folder: Path, board: str = "") -> str:
    """Time-outs that fit delays of Linux: at a hundredth of real time, 2 ms are 200 ms there."""
    file = folder / "attached.toml"
    file.write_text(
        f'description = "a board on a bridge"\nbase = "{resource("clusters/accl-u280-tcp.toml")}"\n[node.board]\nresend_us = 2000\n{board}'
    )
    return str(file)


def exchange(
    folder: Path, megabytes: int, node: int, faults: Faults | None = None, board: str = "", window: int = 0
) -> str:
    other = 1 - node
    with Bridge(2, faults=faults) as net:
        net.ip("link", "set", f"tw{other}", "address", f"02:00:00:00:00:0{other}")
        net.ip("addr", "add", f"10.0.0.{other + 1}/24", "dev", f"tw{other}")
        net.run(sys.executable, "-c", OFFLOADS, f"tw{other}")
        pipe = subprocess.PIPE
        peer = [sys.executable, "-c", ECHO, str(megabytes << 20), str(other), str(window)]
        with subprocess.Popen(net.inside(*peer), stdout=pipe, text=True) as echo:
            try:
                assert echo.stdout and echo.stdout.readline() == "ready\n"
                words = [
                    sys.executable,
                    "-c",
                    BOARD,
                    str(megabytes),
                    cluster(folder, board),
                    str(node),
                    str(folder / "frames.pcapng"),
                ]
                ran = subprocess.run(net.inside(*words), capture_output=True, text=True, check=False)
                assert (ran.returncode, ran.stdout) == (0, f"[{megabytes}] []\n"), ran.stdout + ran.stderr
                said = echo.communicate(timeout=20)[0]
            finally:
                echo.kill()
    assert said.startswith("sent all back\n")
    return said


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize("node", [0, 1])
def test_a_board_exchanges_data_with_a_plain_socket(node: int, tmp_path: Path) -> None:
    """Which takes the connection of node 0, and opens one to node 1; both close it."""
    exchange(tmp_path, 8, node)


@needs_faults
@pytest.mark.parametrize(
    "megabytes", [pytest.param(4, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.long)]
)
def test_nothing_is_lost_over_a_bad_network(megabytes: int, tmp_path: Path, seed: int) -> None:
    """1 % of the frames are lost, 0.1 % come twice, 1 % are overtaken by others."""
    said = exchange(tmp_path, megabytes, 0, Faults(lost=0.01, repeated=0.001, late=0.01, late_ms=2, seed=seed))
    found = re.search(r"retransmitted (\d+)", said)
    assert found and int(found[1]) > 0
