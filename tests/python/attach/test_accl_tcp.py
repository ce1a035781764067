# SPDX-License-Identifier: Apache-2.0
"""A simulated board with TCP and a plain socket of Linux, an independent implementation of TCP: does everything arrive,
whoever opens the connection, over a network that loses, repeats and delays frames?"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from bridge import Bridge, Faults, needs_bridge, needs_faults
from thalweg.resources import resource

#: Linux leaves checksums and segmentation to the network card, which is the other end of the veth here:
#: ETHTOOL_STXCSUM, ETHTOOL_SGSO, ETHTOOL_STSO.
OFFLOADS = """
import fcntl, socket, struct, array, sys
for command in (0x17, 0x24, 0x1F):
    value = array.array("I", [command, 0])
    request = struct.pack("16sP8x", sys.argv[1].encode(), value.buffer_info()[0])
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)  # SIOCETHTOOL
"""

#: Receives the engine's packets with `bytes` bytes of data in all, and sends each back as if `rank` had sent it.
#: `pause`: seconds before each; `whole`: bytes received before they are sent back; `resets`: ends after the first of
#: these.
ECHO = """
import json, socket, struct, sys, time
given = json.loads(sys.argv[1])
left, rank, whole = given["bytes"], given["rank"], given.get("whole", 1)
made = socket.socket()
made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if room := given.get("room"):
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
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
stream, waiting = peer.makefile("rb", 1 << 13), bytearray()
while left:
    time.sleep(given.get("pause", 0))
    header = bytearray(stream.read(64))
    (size,) = struct.unpack_from("<I", header, 52)  # `base`
    data = stream.read(size)
    assert header[0] in (0, 2) and len(data) == size, header
    struct.pack_into("<H", header, 2, rank)
    waiting += header + data
    left -= size
    if len(waiting) >= whole or not left:
        if given.get("resets"):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
            peer.close()
            print("reset", flush=True)
            sys.exit()
        peer.sendall(waiting)
        waiting.clear()
print("sent all back", flush=True)
assert stream.read() == b""  # until the board closes
info = struct.unpack("8B24I", peer.getsockopt(socket.IPPROTO_TCP, 11, 104))  # TCP_INFO
print("retransmitted", info[8 + 23], flush=True)
"""

BOARD = """
import json, sys
import numpy as np
from thalweg.accl import run_attached

given = json.loads(sys.argv[1])

def program(rank):
    words, messages = 1 << 18, given["messages"]
    buffer, other = rank.create_buffer(words, "int32"), 1 - rank.rank
    for number in range(messages):
        data = np.random.default_rng(number).integers(-2**31, 2**31, words, dtype=np.int32)
        buffer.array[:] = data
        if given.get("buffered"):
            came = rank.create_buffer(words, "int32")
            rank.send(buffer, words, other, 3)
            rank.pause(given["buffered"])
            rank.recv(came, words, other, 3)
            assert np.array_equal(came.array, data), number
            continue
        rank.kernel().stream_put(buffer, words, other, stream_id=7)
        while not (packets := rank.pull("int32")):
            rank.pause(20)
        (packet,) = packets
        assert packet.stream == 7 and np.array_equal(packet.data, data), number
    return messages

result = run_attached(
    program, given["node"], 2, f"tw{given['node']}", given["cluster"], limit_s=280, buffers=16, buffer_bytes=8192, time_out_us=0, pcap=given["pcap"]
)
print(result.values, result.lost)
"""


def cluster(folder: Path) -> str:
    """Time-outs for delays of Linux: at a hundredth of real time, 2 ms are 200 ms there."""
    file = folder / "attached.toml"
    file.write_text(
        f'description = "a board on a bridge"\nbase = "{resource("clusters/accl-u280-tcp.toml")}"\n[node.board]\nresend_us = 2000\n'
    )
    return str(file)


def exchange(
    folder: Path,
    megabytes: int,
    node: int = 0,
    *,
    faults: Faults | None = None,
    setup: str = "",
    board: Mapping[str, int] | None = None,
    **peer: float,
) -> tuple[str, str]:
    """The outputs of the socket's program and of the board's. `setup`: a script, in which {tap} is the socket's
    interface."""
    other = 1 - node
    with Bridge(2, faults=faults) as net:
        net.ip("link", "set", f"tw{other}", "address", f"02:00:00:00:00:0{other}")
        net.ip("addr", "add", f"10.0.0.{other + 1}/24", "dev", f"tw{other}")
        net.run(sys.executable, "-c", OFFLOADS, f"tw{other}")
        if setup:
            net.run("sh", "-c", setup.format(tap=f"tw{other}"))
        echoes = json.dumps({"bytes": megabytes << 20, "rank": other, **peer})
        pipe = subprocess.PIPE
        with subprocess.Popen(net.inside(sys.executable, "-c", ECHO, echoes), stdout=pipe, text=True) as echo:
            try:
                assert echo.stdout and echo.stdout.readline() == "ready\n"
                given = {
                    "messages": megabytes,
                    "node": node,
                    "cluster": cluster(folder),
                    "pcap": str(folder / "frames.pcapng"),
                }
                words = net.inside(sys.executable, "-c", BOARD, json.dumps(given | dict(board or {})))
                ran = subprocess.run(words, capture_output=True, text=True, check=False)
                if not peer.get("resets"):
                    assert (ran.returncode, ran.stdout) == (0, f"[{megabytes}] []\n"), ran.stdout + ran.stderr
                said = echo.communicate(timeout=20)[0]
            finally:
                echo.kill()
    return said, ran.stderr


def segments(folder: Path, source: int) -> Iterator[tuple[int, int, int]]:
    """Segments of a rank that the board sent or received: bytes of data, flags and window."""
    data, at = (folder / "frames.pcapng").read_bytes(), 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        frame = data[at + 28 : at + size - 4]
        if kind == 6 and len(frame) >= 54 and frame[23] == 6 and frame[29] == source + 1:
            (total,) = struct.unpack_from(">H", frame, 16)
            yield total - 20 - (frame[46] >> 4) * 4, frame[47], struct.unpack_from(">H", frame, 48)[0]
        at += size


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize("node", [0, 1])
def test_a_board_exchanges_data_with_a_plain_socket(node: int, tmp_path: Path) -> None:
    """It accepts the connection of node 0, and opens one to node 1; the board closes it."""
    said, _ = exchange(tmp_path, 8, node)
    assert said.startswith("sent all back\n")


@needs_faults
@pytest.mark.parametrize(
    "megabytes", [pytest.param(4, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.long)]
)
def test_nothing_is_lost_over_a_bad_network(megabytes: int, tmp_path: Path, seed: int) -> None:
    """1 % of the frames are lost, 0.1 % are duplicated, 1 % are overtaken by others."""
    said, _ = exchange(tmp_path, megabytes, faults=Faults(lost=0.01, repeated=0.001, late=0.01, late_ms=2, seed=seed))
    found = re.search(r"retransmitted (\d+)", said)
    assert found and int(found[1]) > 0


@needs_bridge
@pytest.mark.slow
def test_a_slow_socket_closes_its_window_and_nothing_is_lost(tmp_path: Path) -> None:
    """Of 16 KiB."""
    said, _ = exchange(tmp_path, 1, room=8192, pause=0.01)
    assert said.startswith("sent all back\n")
    assert min(window for _, flags, window in segments(tmp_path, 1) if not flags & 2) == 0


@needs_bridge
@pytest.mark.slow
def test_a_board_that_takes_nothing_closes_its_window_until_it_does(tmp_path: Path) -> None:
    """Linux sends a megabyte into 16 receive buffers of 8 KiB and a window of 256 KiB, and has to probe it for 0.2 s."""
    said, _ = exchange(tmp_path, 2, board={"buffered": 5_000}, whole=1 << 20)
    assert said.startswith("sent all back\n")
    windows = [window << 3 for _, flags, window in segments(tmp_path, 0) if not flags & 2]
    assert min(windows) < 8960 and max(windows) == 262_144


@needs_bridge
@pytest.mark.slow
def test_segments_and_windows_are_what_linux_takes(tmp_path: Path) -> None:
    """With an MTU of 1,500 bytes, without window scaling."""
    setup = "ip link set {tap} mtu 1500; echo 0 > /proc/sys/net/ipv4/tcp_window_scaling; echo 0 > /proc/sys/net/ipv4/tcp_timestamps"
    said, _ = exchange(tmp_path, 2, setup=setup)
    assert said.startswith("sent all back\n")
    assert max(size for size, _, _ in segments(tmp_path, 0)) == 1460
    assert max(window for _, _, window in segments(tmp_path, 0)) == 65_535


@needs_bridge
@pytest.mark.slow
def test_a_socket_that_resets_the_connection_is_named(tmp_path: Path) -> None:
    said, why = exchange(tmp_path, 4, resets=1, whole=1 << 19)
    assert said == "reset\n"
    assert "rank 1 has reset its connection" in why
