# SPDX-License-Identifier: Apache-2.0
"""[faults] of cluster files and `--faults`: the values that reach the simulator, refused values, and the commands'
reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from thalweg import _core
from thalweg.commands.bench import command
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.mpi_fpga import bench_faults
from thalweg.systems.mpi_fpga.cluster import Cluster

FILE = """
[topology]
shape = "torus"
size = [2, 2]

[faults]
seed = 7
bit_error_rate = 1e-6
silence_us = 10

[[faults.links]]
nodes = [0, 2]
one_way = true
frames_lost = 0.25

[[faults.links]]
nodes = [0, 1]
port = 0
down_at_us = 20
up_at_us = 30
"""


def _load(tmp_path: Path, text: str) -> Cluster:
    path = tmp_path / "cluster.toml"
    path.write_text(text)
    return Cluster.load(path)


def test_values_reach_the_simulator(tmp_path: Path) -> None:
    config = _load(tmp_path, FILE).fabric_config()
    assert (config.faults.seed, config.faults.silence) == (7, 2500)
    wires = {
        (node, port): wire
        for link in config.links
        for node, port, wire in (
            (link.node_a, link.port_a, link.from_a),
            (link.node_b, link.port_b, link.from_b),
        )
    }
    assert len(wires) == 16  # two links between neighbours in each ring of two
    assert all(wire.bit_error_rate == 1e-6 for wire in wires.values())
    assert {end for end, wire in wires.items() if wire.frames_lost == 0.25} == {(0, 2), (0, 3)}
    assert {end for end, wire in wires.items() if wire.down_at == 5000} == {(0, 0), (1, 1)}
    assert {wire.up_at for wire in wires.values()} == {7500, _core.NEVER}


def test_plain_clusters_have_none() -> None:
    cluster = Cluster.load("mpi-fpga-torus-2x2x2")
    assert not cluster.has_faults
    assert cluster.margin_flits == cluster.values.router.margin_flits


def test_margin_covers_the_window() -> None:
    """221 in the file; a sender fills its window of 256 words while frames get lost."""
    assert Cluster.load("mpi-fpga-torus-2x2x2", "frames_lost=0.1").margin_flits == 255


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("nodes = [0, 2]", "nodes = [0, 3]", "cluster.toml:12: no link connects node 0 to node 3"),
        ("port = 0", "port = 3", "no link connects node 0 to node 1 by port 3 of node 0"),
        ("up_at_us = 30", "up_at_us = 3", "cluster.toml:20: up_at_us is 3; it must be later than down_at_us"),
        ("one_way", "oneway", "'oneway' is not a key in [faults.links[0]]; did you mean 'one_way'?"),
        ("frames_lost = 0.25", "frames_lost = 1.0", "faults.links[0].frames_lost is 1.0; it should be less than 1"),
        ("seed = 7", "seed = -7", "faults.seed is -7"),
        ("silence_us = 10", "silence = 10", "did you mean 'silence_us'?"),
        (
            "silence_us = 10",
            "silence_us = 0.03",
            "silence_us is 0.03, 8 cycles; it must be at least a link's round trip, 10",
        ),
    ],
)
def test_bad_file_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(InputError) as error:
        _load(tmp_path, FILE.replace(old, new, 1))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_in_place(tmp_path: Path) -> None:
    wires = Cluster.load("ring:4", "bit_error_rate=1e-5,seed=3,down=1-2@4:8,down=2-3@5").faults
    assert {wire.bit_error_rate for link in wires for wire in link} == {1e-5}
    assert [(link[0].down_at_us, link[1].up_at_us) for link in wires] == [(None, None), (4, 8), (5, None), (None, None)]
    path = tmp_path / "faults.toml"
    path.write_text("[faults]\nframes_lost = 0.1\n")
    assert {wire.frames_lost for link in Cluster.load("ring:4", str(path)).faults for wire in link} == {0.1}
    path.write_text("[link]\nlatency_ns = 1\n")
    with pytest.raises(InputError, match=r"faults.toml:1: 'link' is not allowed in a file of faults"):
        Cluster.load("ring:4", str(path))


@pytest.mark.parametrize("given", ["x", "bit_error_rate=", "seed=1.5", "down=0-1", "down=0@1", "reset=0-1@2:3"])
def test_bad_words_in_place(given: str) -> None:
    with pytest.raises(InputError, match=f"^--faults {given}: .* is neither a file nor key=number"):
        Cluster.load("ring:4", given)


def _bench(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments)
    if isinstance(result.exception, FabricStopped | InputError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


@pytest.mark.parametrize("faults", ["bit_error_rate=1e-4,frames_lost=0.02,frames_duplicated=0.02", "down=0-1@2:12"])
@pytest.mark.parametrize("cluster", ["torus:3x3", "mpi-fpga-torus-2x2x2"])
def test_allreduce_is_right(cluster: str, faults: str) -> None:
    code, text = _bench("allreduce", "--cluster", cluster, "--sizes", "16K", "--faults", faults)
    assert (code, "yes" in text) == (0, True)


def _recovery(line: str) -> dict[str, float]:
    found = re.search(
        r"silent from ([\d.]+) us on and given up at ([\d.]+); .* resumed without it at ([\d.]+): .* of ([\d.]+)", line
    )
    assert found, line
    return dict(zip(("silent", "given_up", "resumed", "recovery"), map(float, found.groups()), strict=True))


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("operation", ["allreduce", "broadcast", "alltoall"])
@pytest.mark.parametrize("cluster", ["torus:4x4", "mpi-fpga-torus-2x2x2", "fattree:12"])
def test_goes_on_without_a_link(cluster: str, operation: str) -> None:
    """A link is cut during the operation: checks the result and the recovery time. In the fat tree, the link from a
    leaf to a spine."""
    cut = "12-14" if cluster == "fattree:12" else "0-1"
    given = f"down={cut}@9,silence_us=5,rebuild_us=40"
    way = "exchange" if operation == "alltoall" else "tree"
    code, text = _bench(operation, "--cluster", cluster, "--sizes", "128K", "--algorithm", way, "--faults", given)
    assert (code, "yes" in text) == (0, True), text
    lines = [line for line in text.splitlines() if "the fabric resumed" in line]
    # In a ring of two nodes, both links are cut.
    assert len(lines) >= 2
    times = _recovery(lines[0])
    assert times["silent"] == pytest.approx(9, abs=0.5)
    assert times["given_up"] == pytest.approx(times["silent"] + 5, abs=0.01)
    assert times["resumed"] == pytest.approx(times["given_up"] + 40, abs=0.01)
    assert times["recovery"] == pytest.approx(45, abs=0.02)


@pytest.mark.parametrize("operation", ["latency", "bandwidth"])
def test_messages_take_another_way(operation: str) -> None:
    given = ("--hops", "2", "--faults", "down=0-1@9,down=0-3@9,silence_us=5,rebuild_us=40")
    code, text = _bench(operation, "--cluster", "torus:4x4", "--sizes", "128K", *given)
    assert (code, "yes" in text) == (0, True), text
    assert text.count("the fabric resumed") >= 2


def test_link_that_stays_down_is_named() -> None:
    code, text = _bench("latency", "--cluster", "line:2", "--sizes", "1M", "--faults", "down=0-1@2")
    assert (code, text) == (
        3,
        "the link between port 0 of node 0 and port 1 of node 1 is down since 2.004 us, and "
        "there is no other path from node 0 to node 1",
    )


def _noticed(line: str) -> dict[str, float]:
    found = re.search(
        r"an end of .* was reset alone at ([\d.]+) us, detected at ([\d.]+); the fabric resumed at ([\d.]+): a recovery of ([\d.]+)",
        line,
    )
    assert found, line
    return dict(zip(("reset", "noticed", "resumed", "recovery"), map(float, found.groups()), strict=True))


@pytest.mark.parametrize("operation", ["allreduce", "broadcast"])
def test_goes_on_after_a_reset(operation: str) -> None:
    """The link is used again, and reset only once: checks the result and the recovery time."""
    given = "reset=0-1@9,rebuild_us=40"
    code, text = _bench(
        operation, "--cluster", "torus:4x4", "--sizes", "128K", "--algorithm", "tree", "--faults", given
    )
    assert (code, "yes" in text) == (0, True), text
    lines = [line for line in text.splitlines() if "the fabric resumed" in line]
    assert len(lines) == 2, text  # kernel to kernel, and host to host
    times = _noticed(lines[0])
    assert times["reset"] == pytest.approx(9, abs=0.01)
    assert times["noticed"] == pytest.approx(9.1, abs=0.1)  # a few cycles of 4 ns
    assert times["resumed"] == pytest.approx(times["noticed"] + 40, abs=0.01)


def test_reset_is_of_one_end() -> None:
    wires = Cluster.load("ring:4", "reset=2-1@4").faults
    assert [(forth.reset_at_us, back.reset_at_us) for forth, back in wires] == [
        (None, None),
        (None, 4),
        (None, None),
        (None, None),
    ]


def test_reset_ends_plain_traffic() -> None:
    code, text = _bench("traffic", "--cluster", "ring:4", "--load", "0.2", "--faults", "reset=0-1@2")
    assert code == 3
    assert "has lost flits, as its end at node 0 was reset alone at 2.000 us" in text


def test_model_knows_no_faults() -> None:
    code, text = _bench("barrier", "--cluster", "line:2", "--engine", "model", "--faults", "frames_lost=0.1")
    assert code == 2
    assert "--engine model" in text


@pytest.mark.parametrize("engine", ["rtl", "rtl-routers"])
def test_the_hardware_refuses_resets_of_one_end(engine: str) -> None:
    code, text = _bench("barrier", "--cluster", "line:2", "--engine", engine, "--faults", "reset=0-1@5")
    assert code == 2
    assert (
        "\n" not in text and f"the engine {engine} does not support the reset" in text and "use the engine sim" in text
    )


@pytest.mark.parametrize("cluster", ["torus:4x4", "mpi-fpga-torus-2x2x2"])
def test_goodput(cluster: str) -> None:
    """docs/links.md: (1 - p) / (1 + p a); the deviation of such a short run is about 1 % of it."""
    (one,) = bench_faults.measure_faults(Cluster.load(cluster), [1e-5], 1_000_000)
    assert one.verified
    p = 1 - (1 - 1e-5) ** one.own["frame_bits"]
    a = 2 * Cluster.load(cluster).link_latency + 8
    assert one.own["goodput"] == pytest.approx((1 - p) / (1 + p * a), rel=0.03)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("reset=0-1@10,reset=0-1@20", "reset_at_us of the link from node 0 to node 1 is given twice"),
        ("down=0-1@5:15,down=1-0@30:40", "down_at_us of the link from node 1 to node 0 is given twice"),
    ],
)
def test_no_fault_takes_the_place_of_another(given: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Cluster.load("ring:4", given)


def test_both_ends_may_be_reset_and_a_link_cut_and_reset() -> None:
    for given in ("reset=0-1@5,reset=1-0@10", "down=0-1@5:15,reset=0-1@1"):
        assert Cluster.load("ring:4", given).has_faults
