# SPDX-License-Identifier: Apache-2.0
"""Does `thalweg accl serve` print when it is ready, end at a signal with its report, and refuse invalid arguments in
one line?"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")

sys.path.insert(0, str(Path(__file__).parent))
from client import NOP, RECV, Client
from ports import free_ports

HERE = Path(__file__).parent
WITH_FAKE = """
import sys
from fake_engine import FakeEngine
from thalweg.__main__ import main
from thalweg.systems.accl.commands import serve
serve.make_engine = lambda cluster, ranks, pcap, in_switch: FakeEngine(ranks)
sys.exit(main())
"""
STUCK = WITH_FAKE.replace(
    "sys.exit",
    "import time\nFakeEngine.advance = lambda self, until: (print('stuck', flush=True), time.sleep(60))\nsys.exit",
)
WITHOUT_ZMQ = "import sys\nsys.modules['zmq'] = None\nfrom thalweg.cli import main\nsys.exit(main())\n"


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    (tmp_path / "engines.toml").write_text('[node.fpga]\nkind = "accl"\n')
    return "engines.toml"


def command(program: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    path = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return [sys.executable, "-c", program, *arguments], os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def ended(folder: Path, program: str, *arguments: str) -> tuple[int, str, str]:
    words, environment = command(program, *arguments)
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


@contextmanager
def serving(folder: Path, program: str, port: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    words, environment = command(program, "accl", "serve", "-n", "2", "--cluster", "engines.toml", "--port", str(port))
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*words, *arguments], stdout=pipe, stderr=pipe, text=True, cwd=folder, env=environment
    ) as server:
        try:
            assert server.stdout
            assert server.stdout.readline() == f"serving 2 ranks of engines.toml at 127.0.0.1:{port} to {port + 1}\n"
            yield server
        finally:
            server.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_clients_it_ends_at_a_signal_with_a_line(tmp_path: Path, cluster: str, number: int) -> None:
    with serving(tmp_path, WITH_FAKE, free_ports(8)) as server:
        server.send_signal(number)
        assert server.communicate(timeout=20) == ("no client connected\n", "")
        assert server.returncode == 0


def test_its_report(tmp_path: Path, cluster: str) -> None:
    port = free_ports(8)
    with serving(tmp_path, WITH_FAKE, port, "--json", "report.json", "--patience", "0") as server:
        with Client(port) as client:
            assert client.call(NOP) == 0
            assert client.call(RECV, root_src_dst=1) == 0x800
            client.exchange(b"rubbish")
        server.send_signal(signal.SIGINT)
        said, complaint = server.communicate(timeout=20)
        assert (server.returncode, complaint) == (1, "")
    assert said.splitlines() == [
        "rank  clients  calls  bytes  wrong  refused  which",
        "   0        1      2      0      1        1  1 nop, 1 recv",
        "   1        0      0      0      0        0",
        "rank 0: recv ended with 0x800, receive time-out: as the fake engine says",
        "rank 0: refused: invalid JSON: Expecting value: line 1 column 1 (char 0)",
        "rank 1: no client connected",
    ]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["thalweg"]["command"][:3] == ["thalweg", "accl", "serve"]
    assert report["ranks"][0]["calls"] == {"nop": 1, "recv": 1}
    assert report["ranks"][0]["ended_wrong"] == [
        {
            "scenario": "recv",
            "return_code": 0x800,
            "bits": ["receive time-out"],
            "calls": 1,
            "why": "as the fake engine says",
        }
    ]
    assert report["virtual_s"] == pytest.approx(0.004, rel=0.01)


def test_a_second_signal_ends_it_immediately(tmp_path: Path, cluster: str) -> None:
    port = free_ports(8)
    with serving(tmp_path, STUCK, port) as server, Client(port) as client:
        client.start(NOP)
        client.send({"type": 6, "ctrl_id": 0})
        assert server.stdout and server.stdout.readline() == "stuck\n"
        server.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait(0.3)
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 130


def test_a_port_in_use(tmp_path: Path, cluster: str) -> None:
    port = free_ports(8)
    with serving(tmp_path, WITH_FAKE, port):
        words = ("accl", "serve", "-n", "2", "--cluster", cluster, "--port", str(port))
        says = f"thalweg: port {port} is in use; choose another with --port\n"
        assert ended(tmp_path, WITH_FAKE, *words) == (2, "", says)


def test_ports_that_are_none(tmp_path: Path, cluster: str) -> None:
    words = ("accl", "serve", "-n", "10", "--cluster", cluster, "--port", "65500")
    says = "thalweg: 10 ranks need 40 ports from 65500 on, but the last port is 65535\n"
    assert ended(tmp_path, WITH_FAKE, *words) == (2, "", says)


def test_without_zeromq(tmp_path: Path, cluster: str) -> None:
    code, out, said = ended(tmp_path, WITHOUT_ZMQ, "accl", "serve", "-n", "2", "--cluster", cluster)
    assert (code, out) == (2, "")
    assert re.fullmatch(r"thalweg: serving ACCL's driver needs pyzmq: .* -m pip install '.*\[accl\]'\n", said)
    code, said, _ = ended(tmp_path, WITHOUT_ZMQ, "accl", "serve", "--help")
    assert code == 0 and "--loopback" in said
