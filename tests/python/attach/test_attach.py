# SPDX-License-Identifier: Apache-2.0
"""Two simulated FPGAs in two processes, each on an interface of a real Linux bridge: does what one sends come to the other as it was, and are both
told what is lost? And where a node cannot be put on an interface, does one line say why?"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bridge import Bridge, captured, dissected, needs_bridge
from thalweg.cli import main

ROOT = Path(__file__).resolve().parents[3]
PRESET = "vcsn-d5005"


def attach(net: Bridge, node: int, options: str) -> subprocess.Popen[str]:
    return net.thalweg(*f"attach --cluster {PRESET} --node {node} --limit 50 {options}".split())


def ready(started: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Once it takes what comes."""
    assert started.stdout and started.stderr
    line = started.stdout.readline()
    assert "not deterministic" in line, line + started.stderr.read()
    return started


def ended(started: subprocess.Popen[str]) -> str:
    out, err = started.communicate(timeout=60)
    assert started.returncode == 0, out + err
    return out


def results(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["veth", "tap"])
def test_a_file_crosses_a_bridge_as_it_is_at_no_more_than_the_ratio(tmp_path: Path, kind: str, seed: int) -> None:
    size = 10_000_001  # the last frame is short, and its last word is not full
    ratio = 0.005
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(size))
    with Bridge(2, kind) as net:
        options = f"--to 0.0.0 --receive {came} --bytes {size} --json {tmp_path}/r.json"
        to = ready(attach(net, 1, f"--ratio {ratio} --tap tw1 {options}"))
        options = f"--to 1.0.0 --send {sent} --json {tmp_path}/s.json"
        ended(attach(net, 0, f"--ratio {ratio} --tap tw0 {options}"))
        text = ended(to)
    assert came.read_bytes() == sent.read_bytes()
    one, other = (results(tmp_path / f"{end}.json") for end in "sr")
    assert not one["deterministic"] and not one["dropped"] and not other["dropped"]
    frames = -(-size // 9152)
    (line,), (there,) = one["interfaces"], other["interfaces"]
    assert line["sent"] == there["received"] == frames
    assert line["sent_bytes"] == frames * 18 + -(-size // 64) * 64
    assert there["sent"] == line["received"] > 0  # credits
    for run in (one, other):
        (row,) = run["transfers"]
        assert row["bytes"] == size and 0 < row["data_us"] * 1e-6 <= ratio * (row["wall_s"] + 0.03)
    assert "dropped here: nothing" in text


@needs_bridge
@pytest.mark.slow
def test_a_second_external_port_and_one_that_waits_in_vain(tmp_path: Path, seed: int) -> None:
    """Node 3's second external port and node 9's first one, at their second virtual ports."""
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(640_000))  # whole words, so that no padding shows
    with Bridge(3) as net:
        at3 = "--tap tw0 --tap tw1 --at 1.1 --to 9.0.1"
        to = ready(attach(net, 9, f"--tap tw2 --at 0.1 --to 3.1.1 --receive {came}"))
        ended(attach(net, 3, f"{at3} --send {sent}"))
        ended(to)
        assert came.read_bytes() == sent.read_bytes()
        alone = ready(attach(net, 3, f"{at3} --receive {came} --limit 1"))
        out, err = alone.communicate(timeout=60)
    assert alone.returncode == 3
    assert "1 s of the wall clock have passed: write engine 0 of node 3 waits for words" in err
    assert "dropped here: nothing" in out


@needs_bridge
@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_wireshark_shows_on_the_bridge_what_was_sent(tmp_path: Path, seed: int) -> None:
    sent, came = tmp_path / "sent", tmp_path / "came"
    words = 143 * 300 + 7
    sent.write_bytes(random.Random(seed).randbytes(64 * words))
    with Bridge(2) as net, captured(net, "port1", tmp_path / "frames.pcapng"):
        to = ready(attach(net, 1, f"--tap tw1 --at 0.1 --to 0.0.0 --receive {came}"))
        ended(attach(net, 0, f"--tap tw0 --to 1.0.1 --send {sent}"))
        ended(to)
    names = ["destination_port", "source_port", "channel", "kind", "first", "last", "sequenced", "taken"]
    fields = ["eth.src", "frame.len", *(f"vcsn.{name}" for name in names)]
    data, credits = [], []
    for frame in dissected(tmp_path / "frames.pcapng", fields):
        (data if frame["eth.src"] == "02:00:00:00:00:00" else credits).append(list(frame.values()))
    full = ["02:00:00:00:00:00", str(18 + 9152), "1", "0", "0", "0"]
    assert data == [
        [*full, "1", "0", "0", ""],
        *([*full, "0", "0", "0", ""] for _ in range(299)),
        ["02:00:00:00:00:00", str(18 + 7 * 64), "1", "0", "0", "0", "0", "1", "0", ""],
    ]
    taken = [int(frame.pop()) for frame in credits]
    assert all(frame == ["02:00:00:00:00:01", "82", "0", "1", "0", "2", "1", "1", "0"] for frame in credits)
    assert taken == sorted(set(taken)) and words - 2560 < taken[-1] <= words


JUNK = """
import random, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[3], 0))
draw = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    link.send(bytes.fromhex("020000000001") + b"\x02" + draw.randbytes(draw.randrange(7, 9000)))
"""


@needs_bridge
@pytest.mark.slow
def test_frames_of_others_are_counted_and_nothing_else(tmp_path: Path, seed: int) -> None:
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(1_000_000))
    with Bridge(3) as net:
        to = ready(attach(net, 1, f"--tap tw1 --to 0.0.0 --receive {came} --bytes 1000000 --json {tmp_path}/r.json"))
        net.run(sys.executable, "-c", JUNK, str(seed), "300", "tw2")
        ended(attach(net, 0, f"--tap tw0 --to 1.0.0 --send {sent}"))
        ended(to)
    assert came.read_bytes() == sent.read_bytes()
    dropped = results(tmp_path / "r.json")["dropped"]
    assert sum(one["count"] for one in dropped) == 300, dropped


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["veth", "tap"])
def test_what_nobody_reads_in_time_is_counted(tmp_path: Path, kind: str, seed: int) -> None:
    """While the node stands still the kernel keeps some of what comes."""
    frames = 6000
    with Bridge(2, kind) as net:
        node = ready(attach(net, 1, f"--tap tw1 --to 0.0.0 --receive {tmp_path}/came --limit 4"))
        node.send_signal(signal.SIGSTOP)
        other = "br0" if kind == "tap" else "tw0"
        net.run(sys.executable, "-c", JUNK, str(seed), str(frames), other)
        node.send_signal(signal.SIGCONT)
        out, err = node.communicate(timeout=60)
    assert node.returncode == 3, err
    (line,) = [line for line in out.splitlines() if line.startswith("dropped here: ")]
    dropped = [part.split(" ", 1) for part in line[14:].split("; ")]
    assert {what for _, what in dropped} == {
        "frames of other protocols at port 0",
        "frames that waited too long at tw1",
    }
    assert sum(int(count) for count, _ in dropped) == frames


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "--node 0 --tap nothere0 --send {file}",
            "nothere0: there is no such network interface; a TAP device is made by",
        ),
        ("--node 16 --tap lo --send {file}", "node 16 is no FPGA; these are 0 to 15"),
        ("--node 0 --tap a --tap b --tap c --send {file}", "3 interfaces; node 0 has 2 external ports"),
        ("--node 0 --tap lo", "nothing to send and nothing to receive"),
        ("--node 0 --tap lo --send {empty}", "has no bytes"),
        ("--node 0 --tap lo --send {file} --to 1.0", "'1.0' is no virtual port; it is written NODE.PORT.VIRTUAL"),
        ("--node 0 --tap lo --send {file} --ratio 0", "ratio is 0; it is above 0"),
        ("--node 0 --tap lo --send {file} --at 0.7", "there is no virtual port 0.7 of node 0; a node has 2"),
        ("--node 0 --tap lo --send {file} --to 77.0.0", "node 77 is no FPGA; these are 0 to 15"),
        ("--node 0 --tap lo --send {file} --to 0.0.0", "can't be joined with itself"),
        ("--node 0 --tap lo --receive {file} --bytes 9000000000", "has room for 8589934592"),
    ],
)
def test_bad_input_has_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path, options: str, line: str) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100)
    (tmp_path / "empty").touch()
    given = options.format(file=tmp_path / "file", empty=tmp_path / "empty")
    assert main(["attach", "--cluster", PRESET, "--to", "1.0.0", *given.split()]) == 2
    (said,) = capfd.readouterr().err.splitlines()
    assert line in said


@needs_bridge
@pytest.mark.slow
def test_interfaces_that_cannot_carry_frames_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)

    def refused(net: Bridge, *before: str) -> str:
        options = f"attach --cluster {PRESET} --node 0 --tap tw0 --to 1.0.0 --send {file}"
        command = net.inside(*before, sys.executable, "-m", "thalweg", *options.split())
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    with Bridge(1, mtu=1500) as net:
        assert "its MTU is 1500, and frames have up to 9156" in refused(net)
        net.ip("link", "set", "tw0", "mtu", "9156", "down")
        assert "tw0: the interface is down; ip link set dev tw0 up" in refused(net)
        net.ip("link", "set", "tw0", "up")
        net.ip("link", "set", "port0", "down")
        assert "no carrier" in refused(net)
        net.ip("link", "set", "port0", "up")
        if shutil.which("setpriv"):
            without = ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw")
            assert "a packet socket takes root (CAP_NET_RAW)" in refused(net, *without)
    with Bridge(1, "tap") as net:
        holder = ready(attach(net, 1, f"--tap tw0 --to 0.0.0 --receive {tmp_path}/out"))
        assert "another program has the TAP device" in refused(net)
        holder.kill()
        holder.communicate()


@needs_bridge
@pytest.mark.slow
def test_the_example_runs() -> None:
    done = subprocess.run(
        [ROOT / "examples/bridge/run.sh"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"THALWEG": f"{sys.executable} -m thalweg"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "received as it was sent"
