# SPDX-License-Identifier: Apache-2.0
"""A Linux bridge in a network namespace of its own, which the test makes and removes, with interfaces that programs in it use."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from types import TracebackType

import pytest

MTU = 9216
_numbers = itertools.count()


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)


def missing() -> str:
    """Why there can be none here; empty where there can."""
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


class Bridge:
    """`with Bridge(2) as net:` has interfaces "tw0" and "tw1". `kind`: veth, whose other ends are the bridge's ports (`port(n)`), or tap, which are ports themselves."""

    def __init__(self, ends: int, kind: str = "veth", mtu: int = MTU) -> None:
        self.name = f"tw-{os.getpid()}-{next(_numbers)}"
        self.ends, self.kind, self.mtu = ends, kind, mtu

    def __enter__(self) -> Bridge:
        _ip("netns", "add", self.name)
        try:
            # Otherwise the kernel sends frames of its own.
            self.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
            self.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
            for end in range(self.ends):
                if self.kind == "tap":
                    self.ip("tuntap", "add", "dev", f"tw{end}", "mode", "tap")
                else:
                    self.ip("link", "add", f"tw{end}", "type", "veth", "peer", "name", self.port(end))
                for name in {f"tw{end}", self.port(end)}:
                    self.ip("link", "set", name, "mtu", str(self.mtu), "up")
                self.ip("link", "set", self.port(end), "master", "br0")
            self.ip("link", "set", "br0", "up")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
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

    def run(self, *command: str, **options: object) -> str:
        return subprocess.run(self.inside(*command), capture_output=True, text=True, check=True, **options).stdout  # type: ignore[call-overload,no-any-return]

    def thalweg(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts the command line."""
        command = self.inside(sys.executable, "-m", "thalweg", *arguments)
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
