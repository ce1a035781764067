# SPDX-License-Identifier: Apache-2.0
"""Gather and scatter: schedules by their rules and numbers of stages, times by the paper's equations."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import thalweg
from thalweg.cli import main
from thalweg.errors import FabricStopped, InputError
from thalweg.systems.vcsn import hosts, models, schedules
from thalweg.systems.vcsn.cluster import Cluster
from thalweg.systems.vcsn.collectives import Collective
from thalweg.systems.vcsn.hosts import Barrier, Interrupt, Program, Receive, Work
from thalweg.systems.vcsn.operations import gather_schedule

PRESET = "vcsn-d5005"
FILE = Path(__file__).parents[3] / "clusters/vcsn-d5005.toml"
PAPER = {  # numbers of stages
    "ring": models.stages_dcn,
    "tree": models.stages_vcsn,
    "relink": models.stages_dcn,
}


@pytest.mark.parametrize("by", schedules.GATHERS)
def test_no_schedule_has_more_stages_than_the_paper(by: str) -> None:
    for nodes in (*range(2, 70), 127, 128, 129, 250):
        made = schedules.GATHERS[by](range(nodes), 0, 2, 2)
        assert len(made.stages) <= PAPER[by](nodes)
        if nodes in (9, 16, 33, 64):
            assert len(made.stages) == PAPER[by](nodes)


@pytest.mark.parametrize("by", schedules.GATHERS)
@pytest.mark.parametrize("ports", [1, 2, 4])
@pytest.mark.parametrize("virtual", [2, 4])
def test_schedules_can_be_carried_out(by: str, ports: int, virtual: int) -> None:
    """In each stage a node sends all it holds, and sends and receives at most once over each external port; every
    virtual port has one peer; in the end the root has all data."""
    for nodes in (*range(2, 20), 40):
        for root in {0, nodes // 2, nodes - 1}:
            made = schedules.GATHERS[by](range(nodes), root, ports, virtual)
            held = {node: {node} for node in range(nodes)}
            peers: dict[Any, Any] = {}
            for stage in made.stages:
                if made.rewired:
                    peers = {}
                sends = [(move.source, move.source_port[0]) for move in stage.moves]
                receives = [(move.destination, move.destination_port[0]) for move in stage.moves]
                assert len(set(sends)) == len(sends) and len(set(receives)) == len(receives)
                assert all(len([at for at, _ in receives if at == node]) <= 1 for node in range(nodes) if node != root)
                for move in stage.moves:
                    assert held[move.source] >= set(move.blocks) and move.blocks
                    assert move.source_port[0] == move.destination_port[0] < ports
                    assert max(move.source_port[1], move.destination_port[1]) < virtual
                    ends = (move.source, move.source_port), (move.destination, move.destination_port)
                    for one, other in (ends, ends[::-1]):
                        assert peers.setdefault(one, other) == other
                for move in stage.moves:
                    held[move.source] -= set(move.blocks)
                for move in stage.moves:
                    held[move.destination] |= set(move.blocks)
            assert held[root] == set(range(nodes))


def test_random_gathers_and_scatters_bring_all_blocks(seed: int = 1) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        operation, by = draw.choice(["gather", "scatter"]), draw.choice(list(schedules.GATHERS))
        nodes = draw.randint(2, 16)
        (row,) = thalweg.measure(
            operation,
            PRESET,
            by=by,
            nodes=nodes,
            root=draw.randrange(nodes),
            sizes=[draw.choice([1, 64, 1_000, 9_152, 50_000, 200_000])],
            seed=draw.randrange(1 << 20),
        )
        assert row["verified"] and row["lost"] == 0, seed


@pytest.mark.sample(3)
@pytest.mark.parametrize("nodes", [4, 9, 16])
@pytest.mark.parametrize("late", [False, True])
def test_a_gather_takes_what_equation_7_has(nodes: int, late: bool) -> None:
    """The equation omits the starts of engines, up to four of a server's in each stage and 1.35 us each, and the path
    between memories and lines."""
    for size in (64 << 10, 1 << 20, 8 << 20):
        (row,) = thalweg.measure("gather", PRESET, nodes=nodes, sizes=[size], late=late)
        us = models.gather_vcsn(nodes, size, corrected=late) * 1e6
        assert row["time_us"] == pytest.approx(us + 5 * row["stages"], abs=2 * row["stages"])


def test_the_ports_of_the_root_are_used_as_the_paper_measured() -> None:
    """Of 2 x 12.44 GB/s: 9 nodes are the best case; odd numbers of other nodes leave a port idle."""
    shares = {
        nodes: thalweg.measure("gather", PRESET, nodes=nodes, sizes="8M", late=True)[0]["share_of_ports"]
        for nodes in (4, 9, 16)
    }
    for nodes, share in shares.items():
        size = 8 << 20
        expected = models.gather_efficiency(nodes, size, models.gather_vcsn(nodes, size), models.vcsn_rate())
        assert share == pytest.approx(expected, rel=0.01)
    assert shares[9] > shares[16] > shares[4]


def test_barriers_take_equation_6() -> None:
    cluster = Cluster.load(PRESET)

    def times(servers: int, work: dict[int, float], late: bool) -> float:
        def program(server: int) -> Program:
            yield Work(work.get(server, 0.0))
            yield Barrier()

        tables = dict(list(cluster.server_tables.items())[:servers])
        return hosts.run(cluster.network(), tables, program, late)

    assert times(1, {18: 100.0}, True) == pytest.approx(100, abs=1e-3)
    for servers in range(2, 9):
        expected = 33.4 * math.ceil(math.log2(servers)) + 5.84
        assert times(servers, {18: 100.0}, False) == pytest.approx(100 + expected, abs=1e-3)
        assert times(servers, {18: 100.0}, True) == pytest.approx(100 + expected + 52, abs=1e-3)
        assert times(servers, {18: 501.0}, True) == pytest.approx(501 + expected + 210, abs=1e-3)


def test_who_waits_is_said() -> None:
    cluster = Cluster.load(PRESET)
    network = cluster.network()

    def program(server: int) -> Program:
        if server == 18:
            network.write(7, 0, 0, [(0, 64)])
            network.connect(0, 0, network.place(0, 1, 0))
            yield Interrupt(7)
        yield Barrier()

    tables = dict(list(cluster.server_tables.items())[:2])
    with pytest.raises(FabricStopped) as caught:
        hosts.run(network, tables, program)
    assert str(caught.value) == (
        "deadlock: write engine 0 of node 0 waits for words of transfer 7, for virtual port 1.0 of node 0; "
        "server 18 waits for the interrupt of transfer 7; server 19 waits at a barrier"
    )


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Work("1"), "the program of server 18 yields Work whose us is '1'; must be a number"),  # type: ignore[arg-type]
        (Interrupt(-1), "server 18 yields Interrupt whose handle is -1; must be an integer from 0 to 2"),
        (Receive(1), "a program yields Work, Interrupt or Barrier; that of server 18 yields Receive"),
    ],
)
def test_what_is_no_step_of_a_server_is_refused(step: Any, said: str) -> None:
    cluster = Cluster.load(PRESET)

    def program(_: int) -> Generator[Any, None, None]:
        yield step

    with pytest.raises(InputError, match=said):
        hosts.run(cluster.network(), {18: cluster.server_tables[18]}, program)


def test_equations_are_the_papers() -> None:
    """Equations 1 and 2 to four digits, section 3.4, and the ratios of section 6.3."""
    assert f"{models.dcn_rate() / 1e9:.2f} {models.vcsn_rate() / 1e9:.2f}" == "12.02 12.44"
    assert models.payload_efficiency(9152) == pytest.approx(0.995, abs=5e-4)
    assert models.payload_efficiency(64) == pytest.approx(0.60, abs=5e-3)
    for nodes, share in ((4, 0.740), (9, 0.988), (16, 0.928)):
        size = 256 << 20
        time = models.gather_vcsn(nodes, size)
        assert models.gather_efficiency(nodes, size, time, models.vcsn_rate()) == pytest.approx(share, rel=1e-3)
    for nodes in (4096, 10_000):
        ratio = models.gather_dcn(nodes, 64 << 10) / models.gather_vcsn(nodes, 64 << 10, depth=models.levels(nodes))
        assert ratio == pytest.approx(1.97, rel=0.02)
    for nodes in (16, 64, 256, 1024, 4096):
        ratio = models.gather_dcn(nodes, 256 << 20) / models.gather_vcsn(nodes, 256 << 20, depth=models.levels(nodes))
        assert ratio == pytest.approx(1.05, rel=0.02)


@pytest.mark.parametrize("cluster", ["vcsn-d5005", "dcn-d5005"])
@pytest.mark.parametrize("operation", ["gather", "scatter"])
def test_servers_that_take_no_time_wait_for_what_they_send(cluster: str, operation: str) -> None:
    """A crossbar is not set for the next stage before the data have left their memory, however slow it is."""
    names = ["circuit_us", "crossbar_us", "start_us", "barrier_us", "barrier_round_us"]
    quick = Cluster.load(cluster).replace(node={"server": dict.fromkeys(names, 0.0), "fpga": {"bank_ns": 2_000.0}})
    for by in schedules.GATHERS if cluster == PRESET else ["ring"]:
        (row,) = thalweg.measure(operation, quick, by=by, sizes="10000")
        assert row["verified"] and row["lost"] == 0


def test_the_tree_is_the_shortest_of_the_three() -> None:
    """Section 5.3: Equation 4 is below Equations 3 and 5, for any completion, from the size at which it has fewer
    stages."""
    for nodes in (6, 9, 16, 64, 1000):
        for size in (64, 64 << 10, 256 << 20):
            for complete in (1e-6, models.barrier(8)):
                tree, ring, relink = (
                    of(nodes, size, models.VCSN, complete) for of in (models.tree, models.ring, models.relink)
                )
                assert tree < ring < relink


@pytest.mark.parametrize("cluster", [PRESET, "dcn-d5005"])
@pytest.mark.parametrize("nodes", [2, 3, 8, 16])
def test_an_allgather_takes_its_stages(cluster: str, nodes: int) -> None:
    """Topology, crossbars, and half as many stages as there are other nodes, each with at most eight starts of engines,
    the data and a barrier (Equation 3 with the barriers of Equation 7)."""
    of = Cluster.load(cluster)
    costs = models.DCN if of.is_direct else models.VCSN
    size = 512 << 10
    (row,) = thalweg.measure("allgather", cluster, nodes=nodes, sizes=[size])
    stages = -(-(nodes - 1) // 2)
    assert row["verified"] and row["lost"] == 0 and row["stages"] == stages
    barrier = hosts.barrier_us(of.server_tables[of.servers[0]], -(-nodes // 2)) * 1e-6
    stage = costs.crossbar + costs.latency + size / costs.rate
    least = (
        costs.topology * min(1, nodes / 2)
        + costs.crossbar
        + stages * stage
        + (stages + (0 if of.is_direct else 1)) * barrier
    )
    assert 0 < row["time_us"] - least * 1e6 < 33.4 * 3 + 5.84 + stages * (8 * 1.35 + 40)


def test_random_allgathers_bring_all_blocks(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(12):
        rows = thalweg.measure(
            "allgather",
            draw.choice([PRESET, "dcn-d5005"]),
            nodes=draw.randint(2, 16),
            sizes=[draw.choice([1, 64, 1_000, 9_152, 50_000])],
            seed=draw.randrange(1 << 20),
        )
        assert rows[0]["verified"] and rows[0]["lost"] == 0, seed


def fat_tree(folder: Path) -> Cluster:
    """Eight FPGAs below a fat tree of two levels for each external port, which has loops, in four servers."""
    text = FILE.read_text()
    text = text[: text.index("[topology]")]
    join = "".join(
        f'  {{ link = "slot", ends = ["{20 + fpga // 2}.slot{fpga % 2}", "{fpga}.pcie"] }},\n' for fpga in range(8)
    )
    shape = (
        'shape = "fattree"\nsize = [8]\nradix = 4\noversubscription = 1\nlevels = 2\nplanes = 2\nplane_switches = true\n'
        f'node = "fpga"\nswitch = "switch"\nlink = "cable"\nnodes = {{ "20-23" = "server" }}\njoin = [\n{join}]\n'
    )
    (folder / "f.toml").write_text(f"{text}[topology]\n{shape}")
    return Cluster.load(folder / "f.toml")


def test_an_allgather_on_a_fat_tree_floods_nothing(tmp_path: Path) -> None:
    """Every frame has one destination, and nothing else arrives."""
    cluster = fat_tree(tmp_path)
    topology = cluster.topology
    joined = nx.Graph([(a, b) for a, _, b, _ in topology.links.tolist() if min(a, b) >= 8 and max(a, b) < 20])
    assert len(nx.cycle_basis(joined)) == 2 * 3  # of four leaves and two spines, twice
    schedule = schedules.allgather_ring(cluster.fpgas, 2)
    network, _, right = Collective(cluster, schedule, 20_000).run()
    assert right and network.lost == []
    for node in cluster.fpgas:
        counts = [network.received(node, port) for port in (0, 1)]
        # 313 words are three frames, over both ports in three stages and over one in the last.
        assert [{what: count for what, count in each.items() if count} for each in counts] == [
            {"taken": 12},
            {"taken": 9},
        ]


def test_what_circuits_do_not_have_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    for operation, why in (
        ("reduce", "circuits carry data but do not compute"),
        ("allreduce", "circuits carry data but do not compute"),
        ("alltoall", "it needs a circuit between each pair of FPGAs"),
    ):
        assert main(["bench", operation, "--cluster", PRESET]) == 2
        said = f"thalweg: vcsn has no {operation}: {why}; it has transfer, gather, scatter, allgather, overload, rewire"
        assert capsys.readouterr().err.startswith(said)
        with pytest.raises(InputError, match=f"vcsn has no {operation}: {why}"):
            thalweg.measure(operation, "dcn-d5005")


def test_the_servers_network_is_a_model() -> None:
    """A transfer's two copies over slots of 10.8 GB/s and one over InfiniBand of 12.5; a gather's rounds of 33.4 us, and seven blocks."""
    (row,) = thalweg.measure("transfer", PRESET, by="servers", destination=2, sizes="16M")
    assert row["time_us"] == pytest.approx(33.4 + (16 << 20) * (2 / 10.8e3 + 1 / 12.5e3))
    assert row["verified"] is None and row["bound_us"] is None
    (row,) = thalweg.measure("gather", PRESET, by="servers", sizes="1M")
    assert row["time_us"] == pytest.approx(3 * 33.4 + 7 * (1 << 20) / 12.5e3)
    for operation, options, said in (
        ("transfer", {"by": "servers"}, "FPGAs 0 and 1 are in one server, 18"),
        ("transfer", {"by": "servers", "port": 1, "destination": 2}, "a transfer by servers does not support port"),
        ("gather", {"by": "servers", "nodes": 9}, "nodes is 9; by servers, these take part, and vcsn-d5005 has 8"),
        ("scatter", {"by": "servers"}, "unknown way 'servers'"),
        ("allgather", {"by": "tree"}, "unknown way 'tree'; known are ring"),
    ):
        with pytest.raises(InputError, match=said):
            thalweg.measure(operation, PRESET, **options)


@pytest.mark.parametrize("cluster", ["vcsn-d5005", "dcn-d5005"])
def test_an_fpga_takes_part_once(cluster: str) -> None:
    with pytest.raises(InputError, match="^a gather: node 2 is given twice$"):
        gather_schedule(Cluster.load(cluster), "ring", [0, 2, 1, 2], 0)
