# SPDX-License-Identifier: Apache-2.0
"""Two simulated FPGAs in two processes, each on an interface of a real Linux bridge: do data arrive unchanged, and do
both ends report losses? And if a node cannot be attached to an interface, does one line give the reason?"""

from __future__ import annotations

import filecmp
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from bridge import Bridge, Faults, captured, dissected, needs_bridge, needs_faults, needs_tshark
from thalweg.cli import main
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.rtl_engine import libraries

PRESET = "vcsn-attached"


def attach(net: Bridge, node: int, options: str) -> subprocess.Popen[str]:
    return net.thalweg(*f"attach --cluster {PRESET} --node {node} --limit 250 {options}".split())


def ready(started: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Returns once it accepts frames."""
    assert started.stdout and started.stderr
    line = started.stdout.readline()
    assert "not deterministic" in line, line + started.stderr.read()
    return started


def ended(started: subprocess.Popen[str]) -> str:
    out, err = started.communicate(timeout=320)
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
    ratio = 0.0005  # 1.6 s
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(size))
    with Bridge(2, kind) as net:
        options = f"--delivery credits --to 0.0.0 --receive {came} --bytes {size} --json {tmp_path}/r.json"
        to = ready(attach(net, 1, f"--ratio {ratio} --tap tw1 {options}"))
        options = f"--delivery credits --to 1.0.0 --send {sent} --json {tmp_path}/s.json"
        ended(attach(net, 0, f"--ratio {ratio} --tap tw0 {options}"))
        text = ended(to)
    assert came.read_bytes() == sent.read_bytes()
    one, other = (results(tmp_path / f"{end}.json") for end in "sr")
    assert not one["deterministic"] and not one["dropped"] and not other["dropped"]
    frames = -(-size // 9152)
    (line,), (there,) = one["interfaces"], other["interfaces"]
    assert line["sent"] == there["received"] == frames
    assert line["sent_bytes"] == frames * 18 + -(-size // 64) * 64
    assert there["sent"] >= line["received"] > 0  # credits; the last ones arrive after the sender has ended
    for run in (one, other):
        (row,) = run["transfers"]
        assert row["bytes"] == size and 0 < row["data_us"] * 1e-6 <= ratio * (row["wall_s"] + 0.3)
        assert row["gb_per_s"] <= 12.45  # the line's rate, Equation 2
    assert "dropped here: nothing" in text


@needs_bridge
@pytest.mark.long
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("delivery", ["credits", "session"])
@pytest.mark.parametrize("size", [640_000, 10_000_000])
def test_one_end_is_hardware(tmp_path: Path, seed: int, end: int, delivery: str, size: int) -> None:
    """The hardware is compared with the simulator's node, word by word. With a session the bridge loses, repeats and
    reorders frames; the ends' time is then as slow as the hardware, which must answer before the other end retransmits.
    """
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(size))
    engines = ["rtl" if end == node else "sim" for node in (0, 1)]
    faults = Faults(lost=0.01, repeated=0.001, late=0.01, late_ms=2, seed=seed)
    libraries(Cluster.load(PRESET), [end])  # building takes longer than the other end waits
    ratio = 1e-4 if delivery == "session" else 0.01
    with Bridge(2, faults=faults if delivery == "session" else None) as net:
        options = f"--ratio {ratio} --engine {engines[1]} --delivery {delivery} --to 0.0.0 --receive {came}"
        to = ready(attach(net, 1, f"--tap tw1 {options}"))
        options = f"--ratio {ratio} --engine {engines[0]} --delivery {delivery} --to 1.0.0 --send {sent}"
        said = [ended(attach(net, 0, f"--tap tw0 {options}")), ended(to)]
    assert came.read_bytes() == sent.read_bytes()
    found = re.search(r"hardware and simulator were equal in (\d+) cycles", said[end])
    assert found and int(found[1]) > 10_000


@needs_bridge
@pytest.mark.slow
def test_a_second_external_port_and_one_that_waits_in_vain(tmp_path: Path, seed: int) -> None:
    """Node 3's second external port and node 9's first one, at their second virtual ports."""
    sent, came = tmp_path / "sent", tmp_path / "came"
    sent.write_bytes(random.Random(seed).randbytes(640_000))  # whole words, without padding
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
def test_more_than_is_asked_for_is_said(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.write_bytes(b"x" * 1_000_001)
    with Bridge(2) as net:
        to = ready(attach(net, 1, f"--delivery credits --tap tw1 --to 0.0.0 --receive {tmp_path}/came --bytes 1000"))
        ended(attach(net, 0, f"--delivery credits --tap tw0 --to 1.0.0 --send {sent}"))
        out, err = to.communicate(timeout=60)
    assert to.returncode == 1
    assert "1000064 bytes arrived, in whole words of 64; --bytes is 1000, so the rest was dropped" in err
    assert f"dropped here: {(1_000_064 - 1024) // 64} words beyond the segments of write engine 0" in out


@needs_bridge
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ratio"), [(signal.SIGINT, 0.01), pytest.param(signal.SIGTERM, 1e-6, marks=pytest.mark.long)]
)
def test_an_interrupted_one_ends_with_its_counts(tmp_path: Path, number: int, ratio: float) -> None:
    with Bridge(1) as net:
        node = ready(attach(net, 0, f"--ratio {ratio} --tap tw0 --to 1.0.0 --receive {tmp_path}/came"))
        net.run(sys.executable, "-c", JUNK, "1", "20", "port0")
        time.sleep(0.5)
        node.send_signal(number)
        out, err = node.communicate(timeout=5)
    assert (node.returncode, err) == (128 + number, "")
    assert "tw0: sent 0 frames with 0 bytes, received" in out and "dropped here: " in out


@needs_bridge
@pytest.mark.slow
def test_both_directions_at_once_whoever_comes_first(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    for node in (4, 5):
        (tmp_path / f"from{node}").write_bytes(draw.randbytes(64 * draw.randrange(1, 40_000)))
    with Bridge(2) as net:
        nodes = []
        for node, other in draw.sample([(4, 5), (5, 4)], 2):
            options = f"--to {other}.0.0 --send {tmp_path}/from{node} --receive {tmp_path}/at{node}"
            nodes.append(attach(net, node, f"--tap tw{node - 4} {options}"))
            time.sleep(draw.choice([0, 0.3, 1]))
        said = [ended(each) for each in nodes]
    # the second one may be asked for its session before its program has opened the circuit; the question is repeated
    dropped = r"dropped here: (nothing|(1 frame|\d+ frames) of no circuit at port 0)$"
    assert all(re.search(dropped, text, re.M) for text in said)
    for node, other in ((4, 5), (5, 4)):
        assert (tmp_path / f"at{node}").read_bytes() == (tmp_path / f"from{other}").read_bytes()


@needs_bridge
@pytest.mark.slow
def test_an_end_that_starts_again_is_noticed_by_both(tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    with sent.open("wb") as file:
        file.truncate(100_000_000)
    with Bridge(2) as net:
        to = ready(attach(net, 1, f"--tap tw1 --to 0.0.0 --receive {tmp_path}/came"))
        sender = ready(attach(net, 0, f"--ratio 0.001 --tap tw0 --to 1.0.0 --send {sent}"))  # 8 s
        time.sleep(0.5)
        to.kill()
        to.communicate()
        again = ready(attach(net, 1, f"--tap tw1 --to 0.0.0 --receive {tmp_path}/came --limit 3"))
        said = sender.communicate(timeout=60)
        assert sender.returncode == 3
        assert "has ended: the other end has started another session" in said[1]
        assert "words of a session" in said[0] or "that ended because the peer began another" in said[0]
        out, err = again.communicate(timeout=60)
    assert again.returncode == 3
    assert "write engine 0 of node 1 waits for words" in err


def sessions(frames: Iterable[dict[str, str]], size: int) -> tuple[int, int]:
    """Checks that the fields of all frames are those of a session that carries `size` bytes from node 0 to virtual port
    0.1 of node 1. Returns the number of frames of each node."""
    words = -(-size // 64)
    last = -(-words // 143) - 1
    numbers, ids, count = set[int](), {"0": set[str](), "1": set[str]()}, {"0": 0, "1": 0}
    base = 0
    for frame in frames:
        node = frame["eth.src"][-1]
        of = {name.removeprefix("vcsn."): value for name, value in frame.items()}
        count[node] += 1
        assert (of["sequenced"], of["channel"]) == ("1", "0")
        assert (of["destination_port"], of["source_port"]) == (("1", "0") if node == "0" else ("0", "1"))
        ids[node].add(of["session"])
        if of["peer"] != "0":
            ids["1" if node == "0" else "0"].add(of["peer"])
        number = int(of["number"])
        if of["kind"] == "0":
            assert node == "0"
            numbers.add(number)
            in_frame = 143 if number < last else (words - 1) % 143 + 1
            assert int(of["frame.len"]) == 14 + 4 + 12 + 64 * in_frame
            assert (of["first"], of["last"]) == (str(int(number == 0)), str(int(number == last)))
            assert base <= int(of["base"]) <= number  # at the sender frames are in order
            base = int(of["base"])
        else:
            assert of["kind"] == "3" and int(of["frame.len"]) == 14 + 4 + 12 + 64
            assert number <= (last + 1 if node == "1" else 0)
            assert int(of["received"]) >> (last + 1 - number) == 0  # no frame that does not exist
    assert numbers == set(range(last + 1))
    assert len(ids["0"]) == len(ids["1"]) == 1
    return count["0"], count["1"]


@needs_faults
@needs_tshark
@pytest.mark.parametrize(
    "size", [pytest.param(20_000_001, marks=pytest.mark.slow), pytest.param(1_000_000_000, marks=pytest.mark.long)]
)
def test_over_a_bad_network_all_arrives_once_and_wireshark_shows_every_frame(
    tmp_path: Path, seed: int, size: int
) -> None:
    """1 % of the frames are lost, 0.1 % are duplicated, 1 % are overtaken by others."""
    sent, came = tmp_path / "sent", tmp_path / "came"
    draw = random.Random(seed)
    with sent.open("wb") as file:
        for begin in range(0, size, 1 << 24):
            file.write(draw.randbytes(min(1 << 24, size - begin)))
    faults = Faults(lost=0.01, repeated=0.001, late=0.01, late_ms=2, seed=seed)
    with Bridge(2, faults=faults) as net, captured(net, "tw0", tmp_path / "frames.pcapng"):
        options = f"--to 0.0.0 --receive {came} --bytes {size} --json {tmp_path}/r.json --limit 300"
        to = ready(attach(net, 1, f"--tap tw1 --at 0.1 {options}"))
        ended(attach(net, 0, f"--tap tw0 --to 1.0.1 --send {sent} --json {tmp_path}/s.json --limit 300"))
        ended(to)
        counted = net.counted()
    assert filecmp.cmp(sent, came, shallow=False)
    one, other = (results(tmp_path / f"{end}.json") for end in "sr")
    assert not one["dropped"] and not other["dropped"]
    assert all(counted[what] > 0 for what in ("lost-port0", "overtaken-1"))
    (line,), (there,) = one["interfaces"], other["interfaces"]
    passed = line["sent"] - counted["lost-port0"] + counted["repeated-port0"]
    assert there["received"] <= passed == counted["passed-1"]
    names = [
        "received",
        "destination_port",
        "source_port",
        "channel",
        "kind",
        "first",
        "last",
        "sequenced",
        "session",
        "peer",
        "number",
        "base",
    ]
    shown = dissected(tmp_path / "frames.pcapng", ["eth.src", "frame.len", *(f"vcsn.{name}" for name in names)])
    from0, from1 = sessions(shown, size)
    assert from0 == line["sent"] and from1 >= line["received"]


JUNK = """
import random, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((sys.argv[3], 0))
draw = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    # Of no protocol that the bridge's kernel looks into.
    kind = draw.choice((b"\\x88\\xb5", b"\\x88\\xb6"))
    link.send(bytes.fromhex("020000000001") + b"\\x02" + draw.randbytes(5) + kind + draw.randbytes(draw.randrange(9000)))
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
    """While the node is stopped, the kernel buffers some of the frames."""
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
        "frames of no circuit at port 0",
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
        ("--node 16 --tap lo --send {file}", "node 16 is not an FPGA; the FPGAs are 0 to 15"),
        ("--node 0 --tap a --tap b --tap c --send {file}", "3 interfaces; node 0 has 2 external ports"),
        ("--node 0 --tap lo", "nothing to send and nothing to receive"),
        ("--node 0 --tap lo --send {empty}", "has no bytes"),
        ("--node 0 --tap lo --send {file} --to 1.0", "'1.0' is not a virtual port; write NODE.PORT.VIRTUAL"),
        ("--node 0 --tap lo --send {file} --ratio 0", "ratio is 0; it must be above 0"),
        ("--node 0 --tap lo --send {file} --at 0.7", "there is no virtual port 0.7 of node 0; a node has 2"),
        ("--node 0 --tap lo --send {file} --to 77.0.0", "node 77 is not an FPGA; the FPGAs are 0 to 15"),
        ("--node 0 --tap lo --send {file} --to 0.0.0", "cannot have a circuit with itself"),
        ("--node 0 --tap lo --receive {new} --bytes 9000000000", "of node 0 is 8589934592"),
        ("--node 0 --tap lo --send {file} --limit nan", "limit is nan; it must be 0 to 1e+09 seconds"),
        ("--node 0 --tap lo --send {file} --limit inf", "limit is inf; it must be 0 to 1e+09 seconds"),
        ("--node 0 --tap lo --send {file} --ratio nan", "ratio is nan; it must be above 0"),
        ("--node 0 --tap lo --send {file} --bytes 100", "--bytes applies to received data"),
        ("--node 0 --tap lo --tap lo --send {file}", "lo is given for 2 external ports"),
        ("--node 0 --tap 0123456789abcdef --send {file}", "'0123456789abcdef' is not the name of a network interface"),
        ("--node 0 --tap lo --send {file} --receive {file}", "is also the file of --send and would be overwritten"),
        ("--node 0 --tap lo --pcap {file} --send {file}", "is also the file of --pcap and would be overwritten"),
        ("--node 9999999999 --tap lo --send {file}", "9999999999 is not in the range"),
        ("--node 0 --tap lo --send {file} --to 1.0.9999999999", "'1.0.9999999999' is not a virtual port"),
    ],
)
def test_bad_input_has_one_line(capfd: pytest.CaptureFixture[str], tmp_path: Path, options: str, line: str) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100)
    (tmp_path / "empty").touch()
    given = options.format(**{name: tmp_path / name for name in ("file", "empty", "new")})
    assert main(["attach", "--cluster", PRESET, "--to", "1.0.0", *given.split()]) == 2
    (said,) = capfd.readouterr().err.splitlines()
    assert line in said


REFUSALS = """
import contextlib, fcntl, io, json, os, struct, subprocess, sys
from thalweg.cli import main
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.rtl_engine import libraries

said = []
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"tap0", 0x1002))  # TUNSETIFF: a TAP device, which is ours
subprocess.run("ip link set tap0 mtu 9216 up".split(), check=True)
for setup in (
    "", "ip link set dev tw0 mtu 9168 down", "ip link set dev tw0 up; ip link set dev port0 down", "ip link set dev port0 up", "tap"
):
    subprocess.run(setup if setup != "tap" else "", shell=True, check=True)
    with contextlib.redirect_stderr(io.StringIO()) as err:
        interface = "tap0" if setup == "tap" else "tw0"
        assert main([*sys.argv[1:], "--tap", interface]) == 2
    said.append(err.getvalue())
print(json.dumps(said))
"""


@needs_bridge
@pytest.mark.slow
def test_interfaces_that_cannot_carry_frames_are_refused(tmp_path: Path) -> None:
    """In turn: an MTU that is too small, down, without a carrier, without permission to open a packet socket, used by
    another program."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    options = f"attach --cluster {PRESET} --node 0 --to 1.0.0 --send {file}".split()
    without = ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw")
    with Bridge(1, mtu=1500) as net:
        mtu, down, carrier, right, other = json.loads(net.run(*without, sys.executable, "-c", REFUSALS, *options))
    assert "tw0: its MTU is 1500, and frames have up to 9168" in mtu
    assert "tw0: the interface is down; ip link set dev tw0 up" in down
    assert "tw0: the interface has no carrier" in carrier
    assert "tw0: a packet socket needs root (CAP_NET_RAW)" in right
    assert "tap0: another program uses the TAP device" in other
    assert all(line.count("\n") == 1 for line in (mtu, down, carrier, right, other))
