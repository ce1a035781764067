# SPDX-License-Identifier: Apache-2.0
"""A simulated board with ACCL's engine on a real Linux bridge: does it answer Linux?"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bridge import Bridge, needs_bridge
from thalweg.cli import main
from thalweg.resources import resource
from thalweg.systems.accl.cluster import Cluster
from thalweg.systems.accl.rtl_engine import libraries

WITHOUT_PLUG_INS = "[node.board]\narithmetic = false\ncompression = false\n"
"""Hardware that is built fast, for tests that need neither; other tests use it too."""


def attach(net: Bridge, options: str, cluster: str | Path = "accl-u280-udp") -> subprocess.Popen[str]:
    started = net.thalweg("attach", "--cluster", str(cluster), *options.split())
    assert started.stdout and started.stderr
    line = started.stdout.readline()
    assert "not deterministic" in line, line + started.stderr.read()
    return started


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "engine"), [("veth", "sim"), ("tap", "sim"), pytest.param("veth", "rtl", marks=pytest.mark.long)]
)
def test_linux_pings_a_board(kind: str, engine: str, tmp_path: Path) -> None:
    """With payloads of odd and even sizes, and of a jumbo frame; and no other address is answered."""
    cluster = tmp_path / "boards.toml"
    cluster.write_text(f'base = "{resource("clusters/accl-u280-udp.toml")}"\n' + WITHOUT_PLUG_INS * (engine == "rtl"))
    if engine == "rtl":
        libraries(Cluster.load(str(cluster)), [3])  # building takes longer than ping waits
    with Bridge(1, kind) as net:
        net.ip("addr", "add", "10.0.0.200/24", "dev", "br0")
        board = attach(net, f"--engine {engine} --node 3 --tap tw0 --json {tmp_path}/r.json", cluster)
        pause = "0.01" if engine == "sim" else "0.5"  # ping ends two round trips after the last request
        for size in (0, 9, 56, 1000, 8000):
            said = net.run("ping", "-c", "3", "-i", pause, "-W", "5", "-s", str(size), "10.0.0.4")
            assert re.search(r"3 packets transmitted, 3 received, 0% packet loss", said), said
        refused = subprocess.run(
            net.inside("ping", "-c", "1", "-W", "0.5", "10.0.0.5"), capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        board.send_signal(signal.SIGINT)
        out, err = board.communicate(timeout=60)
    assert (board.returncode, err) == (130, "")
    assert re.search(r"tw0: sent 16 frames", out), out
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interfaces"][0]["sent"] == 16  # an ARP answer, and the echo replies


ECHO = """
import socket, sys
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
peer.bind(("10.0.0.2", 5500))
print("ready", flush=True)
left = int(sys.argv[1])
while left:
    packet, sender = peer.recvfrom(9216)
    header, data = bytearray(packet[:64]), packet[64:]
    assert sender == ("10.0.0.1", 5500) and header[0] == 2 and header[1] == 7, (sender, header)
    header[2:4] = (1).to_bytes(2, "little")  # the source: rank 1
    peer.sendto(header + data, sender)
    left -= len(data)
print("sent all back", flush=True)
"""

BOARD = """
import sys
import numpy as np
from thalweg.accl import run_attached

def program(rank):
    words, messages = 1 << 18, int(sys.argv[1])  # 128 frames at once
    for number in range(messages):
        data = np.random.default_rng(number).integers(-2**31, 2**31, words, dtype=np.int32)
        rank.kernel().stream_put(rank.create_buffer(data) if number == 0 else reuse(rank, data), words, 1, stream_id=7)
        while not (packets := rank.pull("int32")):
            rank.pause(20)
        (packet,) = packets
        assert packet.stream == 7 and np.array_equal(packet.data, data), number
    return messages

kept = []
def reuse(rank, data):
    if not kept:
        kept.append(rank.create_buffer(data))
    kept[0].array[:] = data
    return kept[0]

result = run_attached(program, 0, 2, "tw0", limit_s=250, buffer_bytes=8192)
print(result.values, result.lost)
"""


def exchange(megabytes: int) -> None:
    with Bridge(2) as net:
        net.ip("link", "set", "tw1", "address", "02:00:00:00:00:01")
        net.ip("addr", "add", "10.0.0.2/24", "dev", "tw1")
        # While Linux resolves an address, it keeps only 208 KiB of packets for it, and silently drops others.
        net.ip("neighbour", "add", "10.0.0.1", "lladdr", "02:00:00:00:00:00", "dev", "tw1", "nud", "permanent")
        pipe = subprocess.PIPE
        with subprocess.Popen(
            net.inside(sys.executable, "-c", ECHO, str(megabytes << 20)), stdout=pipe, text=True
        ) as echo:
            try:
                assert echo.stdout and echo.stdout.readline() == "ready\n"
                board = subprocess.run(
                    net.inside(sys.executable, "-c", BOARD, str(megabytes)), capture_output=True, text=True, check=False
                )
                assert (board.returncode, board.stdout) == (0, f"[{megabytes}] []\n"), board.stderr
                assert echo.communicate(timeout=20)[0] == "sent all back\n"
            finally:
                echo.kill()


@needs_bridge
@pytest.mark.slow
def test_a_board_exchanges_data_with_a_plain_socket() -> None:
    exchange(megabytes=8)


@needs_bridge
@pytest.mark.long
def test_a_board_exchanges_a_gigabyte_with_a_plain_socket() -> None:
    exchange(megabytes=1000)


def test_what_is_wrong_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    for options, text in (
        ("--node 60 --tap x", "node 60 is not a board; must be 0 to 47"),
        ("--node 0 --tap no-such", "no-such"),
        ("--node 0 --tap x --ratio 0", "ratio is 0"),
    ):
        assert main(["attach", "--cluster", "accl-u280-udp", *options.split()]) == 2
        error = capsys.readouterr().err
        assert text in error
        assert error.count("\n") == 1
