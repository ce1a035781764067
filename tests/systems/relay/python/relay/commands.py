# SPDX-License-Identifier: Apache-2.0
"""`thalweg bench turn` and `thalweg rtl cosim`, of relays."""

from __future__ import annotations

import random

import click
from thalweg.commands.measured import cluster_option, measure, outputs
from thalweg.commands.output import json_option, print_table, write_json
from thalweg.errors import CheckFailed
from thalweg.resources import find_root
from thalweg.rtl.project import Project

from relay import operations
from relay.cluster import Cluster, run


@click.command()
@cluster_option("ring.toml")
@click.option("--words", default="1:8", show_default=True, help="That are sent at once: a list, or a range.")
@outputs
def turn(cluster, words, outputs):
    """Words that node 0 sends once around the ring, and the time at which the last one is back."""
    measure(operations.turn(Cluster.load(cluster), words=words), outputs, before=[("words", "words")])


def program(relays, nodes, seed):
    """At most as many words as one crossing of each node holds, so that some word can always proceed."""
    draw = random.Random(seed)
    for node in range(nodes):
        cycle = 0
        for _ in range(draw.randrange(9)):
            cycle += draw.choice((0, 1, 20)) * draw.randrange(9)
            relays.send(node, cycle, draw.randrange(4 * nodes), draw.getrandbits(32))
    return run(relays)


@click.command()
@click.option("--cluster", "name", required=True)
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**31), default=None)
@json_option
def cosim(name, runs, seed, json_file):
    """Random words on the simulator's relays and on the hardware's: same sums, same times."""
    cluster = Cluster.load(name)
    seed = random.randrange(2**31) if seed is None else seed
    click.echo(f"seed {seed}")
    relay = next(iter(cluster.nodes.values()))
    clocks = {"net": cluster.clocks[relay.clock].frequency_mhz, "core": cluster.clocks[relay.core_clock].frequency_mhz}
    project = Project(find_root())
    glue = project.root / "rtl/relay/relay_node.cpp"
    library = project.build_library("tw_relay_node", glue, {"Depth": relay.depth}, clocks=clocks)
    words = 0
    for each_seed in range(seed, seed + runs):
        expected, got = (
            program(cluster.relays(each), cluster.topology.nodes, each_seed) for each in ("", str(library))
        )
        words += len(expected)
        for sim, rtl in zip(expected, got, strict=True):
            if sim != rtl:
                raise CheckFailed(
                    f"seed {each_seed}: (tick, node, sum) is {sim} in the simulator, {rtl} in the hardware"
                )
    row = {"cluster": cluster.name, "seed": seed, "runs": runs, "words": words}
    print_table(tuple(row), [tuple(row.values())], left=("cluster",))
    write_json(json_file, row, cluster, seeds={"programs": seed})
