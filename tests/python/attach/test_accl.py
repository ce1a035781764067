# SPDX-License-Identifier: Apache-2.0
"""A simulated board with ACCL's engine on a real Linux bridge: does it answer Linux?"""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from bridge import Bridge, needs_bridge
from thalweg.cli import main


def attach(net: Bridge, options: str) -> subprocess.Popen[str]:
    started = net.thalweg(*f"attach --cluster accl-u280-udp {options}".split())
    assert started.stdout and started.stderr
    line = started.stdout.readline()
    assert "not deterministic" in line, line + started.stderr.read()
    return started


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["veth", "tap"])
def test_linux_pings_a_board(kind: str, tmp_path: Path) -> None:
    """With payloads of odd and even sizes, and of a jumbo frame; and nobody else."""
    with Bridge(1, kind) as net:
        net.ip("addr", "add", "10.0.0.200/24", "dev", "br0")
        board = attach(net, f"--node 3 --tap tw0 --json {tmp_path}/r.json")
        for size in (0, 9, 56, 1000, 8000):
            said = net.run("ping", "-c", "3", "-i", "0.01", "-W", "5", "-s", str(size), "10.0.0.4")
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
    assert report["interfaces"][0]["sent"] == 16  # an answer of ARP, and those to the requests


def test_what_is_wrong_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    for options, text in (
        ("--node 60 --tap x", "node 60 is no board; these are 0 to 47"),
        ("--node 0 --tap no-such", "no-such"),
        ("--node 0 --tap x --ratio 0", "ratio is 0"),
    ):
        assert main(["attach", "--cluster", "accl-u280-udp", *options.split()]) == 2
        error = capsys.readouterr().err
        assert text in error
        assert error.count("\n") == 1
