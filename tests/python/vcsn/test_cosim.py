# SPDX-License-Identifier: Apache-2.0
"""Are whole clusters of the hardware's nodes equal to the simulator's? And would a difference be detected?"""

from __future__ import annotations

import pytest
from thalweg import cli
from thalweg.errors import CheckFailed
from thalweg.rtl.project import Project
from thalweg.systems.vcsn import cosim, rtl_engine
from thalweg.systems.vcsn.network import Network
from thalweg.systems.vcsn.spec import FrameKind, VcsnHeader
from thalweg.vcsn import Cluster, VirtualPort

CLUSTERS = ["vcsn-d5005", "dcn-d5005"]
ONE, OTHER = VirtualPort(0, 0, 0), VirtualPort(1, 0, 1)


@pytest.fixture
def unoptimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """For hardware that runs for a second, only in these tests."""
    monkeypatch.setattr(Project, "for_models", " -O0")


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.usefixtures("unoptimized")
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_random_programs(cluster: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rtl", "cosim", "--cluster", cluster, "--runs", "1", "--seed", str(seed - seed % cosim.SAME_HARDWARE)]
    assert cli.main(words) == 0, capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_many_random_programs(cluster: str) -> None:
    assert cli.main(["rtl", "cosim", "--cluster", cluster, "--runs", "200"]) == 0


@pytest.mark.long
def test_words_that_left_long_ago_are_counted() -> None:
    """This program sets credits while words are in flight, so that more words leave a receive buffer before a report
    than it holds."""
    assert cli.main(["rtl", "cosim", "--cluster", "vcsn-d5005", "--runs", "1", "--seed", "954719902"]) == 0


def joined(verilated: list[int]) -> Network:
    """A circuit from ONE to OTHER. The nodes' hardware is that of tests/python/attach, built once for both."""
    network = Network(Cluster.load("vcsn-attached"), verilated=verilated)
    network.set_circuit(ONE, OTHER)
    network.set_circuit(OTHER, ONE)
    return network


@pytest.mark.long
def test_a_session_begins_after_a_frame_without_data() -> None:
    """The frame is one word of the MAC, and nothing follows it: an end that waits for the rest of it would never begin
    its session."""
    network = joined([0, 1])
    network.advance(network.now + 10**5)
    addresses = bytes([2, 0, 0, 0, 0, ONE.node, 2, 0, 0, 0, 0, OTHER.node])
    header = VcsnHeader(ONE.virtual_port, OTHER.virtual_port, 0, FrameKind.DATA, True, True, False).pack()
    network.inject(ONE.node, ONE.port, addresses + b"\x88\xb5" + header + bytes(42))
    network.advance(network.now + 10**5)
    assert network.received(ONE.node, ONE.port)["unformed"] == 1
    network.set_session(ONE, 7)
    network.advance(network.now + 10**5)
    network.finish()


@pytest.mark.long
@pytest.mark.usefixtures("unoptimized")
def test_hardware_that_is_another_is_told_apart(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The simulator's memory has the same latency, but its buffers have other sizes, as the hardware is already built."""
    cluster = Cluster.load("dcn-d5005").replace(node={"fpga": {"frame_words": 20}})
    other = cluster.replace(node={"fpga": {"receive_words": 64}})
    library = rtl_engine.libraries(cluster, range(cosim.NODES))
    monkeypatch.setattr(rtl_engine, "libraries", lambda *_: library)
    monkeypatch.setattr(cosim, "random_hardware", lambda _, given: given)
    with pytest.raises(CheckFailed, match=r"seed \d+: node \d, cycle \d+ of the line's clock: port \d sends a word"):
        for number in range(seed, seed + 20):
            cosim.compare(other, number)


@pytest.mark.long
def test_results_are_those_of_the_simulator_alone() -> None:
    """Following hardware changes nothing."""

    def run(verilated: list[int]) -> tuple[list[int], bytes]:
        network = joined(verilated)
        network.set_credits(ONE)
        network.connect(0, network.place(0, 0, 0), 0)
        network.connect(1, 0, network.place(1, 0, 1))
        network.store(0, 0, bytes(range(250)) * 40)
        network.write(1, 1, 0, [(0, 10_000)])
        network.read(0, 0, [(0, 10_000)])
        times = [each.at for each in network.advance(10**12)]
        assert (network.finish() > 1000) == bool(verilated)
        return times, network.load(1, 0, 10_000)

    assert run([0, 1]) == run([])
    assert run([])[1] == bytes(range(250)) * 40
