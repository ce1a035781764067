# SPDX-License-Identifier: Apache-2.0
"""A Linux bridge in a network namespace of its own, which the test creates and removes, with interfaces for programs in
it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pytest

MTU = 9216
_numbers = itertools.count()


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)


def missing() -> str:
    """The reason why no bridge is possible here; empty if one is."""
    if not shutil.which("ip"):
        return "ip (iproute2) is not installed"
    name = f"tw-{os.getpid()}-probe"
    made = _ip("netns", "add", name)
    if made.returncode:
        return f"network namespaces are not allowed here: {made.stderr.strip()}"
    linked = _ip("-n", name, "link", "add", "br0", "type", "bridge")
    _ip("netns", "delete", name)
    return f"no bridge can be made here: {linked.stderr.strip()}" if linked.returncode else ""


needs_bridge = pytest.mark.skipif(bool(why := missing()), reason=why)
needs_faults = pytest.mark.skipif(bool(why) or not shutil.which("nft"), reason=why or "nft (nftables) is not installed")
needs_tshark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")


@dataclass(frozen=True)
class Faults:
    """Faults of a network: shares of the frames that arrive at each port: `lost`, `repeated` (in steps of 1e-4), and
    `late` by up to `late_ms`, so that others overtake them."""

    lost: float = 0
    repeated: float = 0
    late: float = 0
    late_ms: float = 2
    seed: int = 1  #: of `late`; the kernel draws the others

    def rules(self, ports: Mapping[str, str]) -> str:
        """Rules for nft: the frames arriving at each of the ports; repeated frames are sent to another port."""
        lines = []
        for port, other in ports.items():
            lines += [f"counter lost-{port} {{}}", f"counter repeated-{port} {{}}", f"chain {port} {{"]
            lines += [f'type filter hook ingress device "{port}" priority 0;']
            if self.lost:
                lines += [f"numgen random mod 10000 < {round(self.lost * 1e4)} counter name lost-{port} drop"]
            if self.repeated:
                dup = f'counter name repeated-{port} dup to "{other}"'
                lines += [f"numgen random mod 10000 < {round(self.repeated * 1e4)} {dup}"]
            lines += ["}"]
        return "table netdev faults {\n" + "\n".join(lines) + "\n}\n"


class Bridge:
    """`with Bridge(2) as net:` has interfaces "tw0" and "tw1". `kind`: veth, whose other ends are the bridge's ports
    (`port(n)`), or tap, which are ports themselves.

    With `faults` there are two veth interfaces, each on a bridge of its own with a relay between them (relay.py).
    """

    def __init__(self, ends: int, kind: str = "veth", mtu: int = MTU, faults: Faults | None = None) -> None:
        self.name = f"tw-{os.getpid()}-{next(_numbers)}"
        self.ends, self.kind, self.mtu, self.faults = ends, kind, mtu, faults
        self._relay: subprocess.Popen[str] | None = None

    def __enter__(self) -> Bridge:
        _ip("netns", "add", self.name)
        try:
            # Otherwise the kernel sends frames of its own.
            self.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
            for end in range(self.ends):
                if self.kind == "tap":
                    self.ip("tuntap", "add", "dev", f"tw{end}", "mode", "tap")
                    self._up(f"tw{end}")
                else:
                    self._pair(f"tw{end}", self.port(end))
            ports = [self.port(end) for end in range(self.ends)]
            if self.faults:
                self._relayed(self.faults, *ports)
            else:
                self._join("br0", *ports)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _up(self, *names: str) -> None:
        for name in names:
            self.ip("link", "set", name, "mtu", str(self.mtu), "up")

    def _pair(self, one: str, other: str) -> None:
        self.ip("link", "add", one, "type", "veth", "peer", "name", other)
        self._up(one, other)

    def _join(self, bridge: str, *ports: str) -> None:
        self.ip("link", "add", bridge, "type", "bridge", "mcast_snooping", "0")
        for port in ports:
            self.ip("link", "set", port, "master", bridge)
        self._up(bridge)

    def _relayed(self, faults: Faults, one: str, other: str) -> None:
        for end, port in enumerate((one, other)):
            self._pair(f"relay{end}", f"gate{end}")
            self._join(f"br{end}", port, f"gate{end}")
        self.run("nft", "-f", "-", input=faults.rules({one: "gate0", other: "gate1"}))
        script = Path(__file__).with_name("relay.py")
        words = ["relay0", "relay1", str(faults.late), str(faults.late_ms), str(faults.seed)]
        self._relay = subprocess.Popen(
            self.inside(sys.executable, str(script), *words), stdout=subprocess.PIPE, text=True
        )
        assert self._relay.stdout and self._relay.stdout.readline() == "relays\n"

    def counted(self) -> dict[str, int]:
        """Statistics of frames: `lost-port0`, `repeated-port0`, `overtaken-1` (in the direction of end 1), ... Ends the
        relay."""
        assert self._relay
        self._relay.terminate()
        out, _ = self._relay.communicate(timeout=10)
        relayed = json.loads(out)
        counters = json.loads(self.run("nft", "-j", "list", "counters"))["nftables"]
        found = {each["counter"]["name"]: int(each["counter"]["packets"]) for each in counters if "counter" in each}
        return found | {
            f"{what}-{end}": count for what in ("passed", "overtaken") for end, count in enumerate(relayed[what])
        }

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._relay:
            self._relay.kill()
            self._relay.communicate()
        _ip("netns", "delete", self.name)

    def port(self, end: int) -> str:
        """The bridge's port at which an interface is."""
        return f"tw{end}" if self.kind == "tap" else f"port{end}"

    def ip(self, *arguments: str) -> None:
        done = _ip("-n", self.name, *arguments)
        assert not done.returncode, f"ip {' '.join(arguments)}: {done.stderr}"

    def inside(self, *command: str) -> list[str]:
        """A command that runs in the namespace."""
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command: str, input: str | None = None) -> str:
        done = subprocess.run(self.inside(*command), capture_output=True, text=True, check=False, input=input)
        assert not done.returncode, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def thalweg(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts the command line."""
        command = self.inside(sys.executable, "-m", "thalweg", *arguments)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def captured(net: Bridge, interface: str, file: Path) -> Iterator[None]:
    """Writes the first bytes of all frames at an interface to a file, in both directions."""
    command = net.inside("dumpcap", "-q", "-i", interface, "-s", "96", "-B", "64", "-w", str(file))
    capture = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert capture.stderr
    while not (line := capture.stderr.readline()).startswith("File:"):
        assert line, "dumpcap has ended"
    yield
    time.sleep(0.2)  # until it has read the kernel's buffer
    capture.send_signal(signal.SIGINT)
    _, said = capture.communicate(timeout=20)
    assert f"dropped on interface '{interface}'" in said and "/0 " in said, said


def dissected(file: Path, fields: Sequence[str], shown: str = "vcsn") -> Iterator[dict[str, str]]:
    """The fields of each frame of a protocol, by tshark."""
    script = Path(__file__).resolve().parents[3] / "spec/generated/wireshark/vcsn.lua"
    command = [
        "tshark",
        "-X",
        f"lua_script:{script}",
        "-r",
        str(file),
        "-Y",
        shown,
        "-T",
        "fields",
        "-E",
        "separator=|",
    ]
    command += [word for field in fields for word in ("-e", field)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        assert started.stdout
        for line in started.stdout:
            yield dict(zip(fields, line.rstrip("\n").split("|"), strict=True))
    assert started.returncode == 0
