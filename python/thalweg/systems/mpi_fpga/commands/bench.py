"""`thalweg bench` of collectives, messages and traffic: measured over sizes or loads, verified, beside their bounds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from thalweg.bench.plot import check_plot, plot
from thalweg.commands import completion
from thalweg.commands.output import OutputFile, json_option, print_line, print_table, progress_bar, write_json
from thalweg.errors import CheckFailed, InputError
from thalweg.launch import placement
from thalweg.spec import Datatype, Operator
from thalweg.systems.mpi_fpga import SYSTEM, bench, bench_data, bench_messages, bench_model, bench_traffic
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.faults import faults_option, recovery_text
from thalweg.systems.mpi_fpga.rtl_engine import ENGINES, with_engine
from thalweg.systems.mpi_fpga.spec import Algorithm

Rows = list[bench.Row]

COLUMNS = ["bytes", "algorithm", "kernel", "bound", "share", "host", "bound", "share", "verified"]
TRAFFIC_COLUMNS = ["load", "accepted", "latency", "hops", "Mflit-hops/s", "Mrouter-cycles/s", "verified"]


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


_common = _options(
    click.option(
        "--cluster",
        "cluster_name",
        required=True,
        shell_complete=completion.clusters,
        metavar="C",
        help="A preset, a cluster file, or a shape in place such as torus:4x4.",
    ),
    faults_option,
    click.option("--plot", "picture", type=OutputFile(), metavar="FILE", help="Also draw it: .png, .svg or .pdf."),
    json_option,
)


def _engine(*engines: str) -> Callable[[Any], Any]:
    text = "sim executes it, cycle by cycle"
    text += "; rtl with the hardware, Verilated, rtl-routers with its routers alone" * ("rtl" in engines)
    text += "; model has closed forms, and executes nothing" * ("model" in engines) + "."
    return click.option("--engine", type=click.Choice(engines), default="sim", show_default=True, help=text)


_sizes = click.option(
    "--sizes", default="4:1M", show_default=True, metavar="S", help="Bytes: 4:1M, doubling, or a list such as 4,64,1K."
)
_seed = click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of random data.")


def _finish(rows: Rows, picture: Path | None, json_file: Path | None, cluster: Cluster, **seeds: int) -> None:
    """Writes the files, then says what failed."""
    write_json(json_file, rows, cluster, seeds=seeds)
    if picture:
        plot(rows, picture)
    wrong = [row for row in rows if row["verified"] is False]
    if wrong:
        where = ", ".join(str(row["bytes"] if "load" not in row else row["load"]) for row in wrong)
        raise CheckFailed(f"{rows[0]['operation']} gave wrong results at {where}")
    for row in rows:
        for end in ("kernel", "host"):
            time, bound = row[f"time_{end}_us"], row[f"bound_{end}_us"]
            if bound is not None and time < bound:
                raise CheckFailed(
                    f"{row['operation']} of {row['bytes']} bytes took {time:.4g} us, which is below its bound of "
                    f"{bound:.4g} us: one of the two is wrong"
                )


_CLOSED = ": closed forms (LogGP), nothing executed"


def _yes(right: bool) -> str:
    return "yes" if right else "NO"


def _print_recoveries(rows: Rows) -> None:
    for row in rows:
        for end in ("kernel", "host"):
            for recovery in row.get(f"recoveries_{end}", []):
                print_line(f"{row['bytes']} bytes, {end} to {end}: {recovery_text(recovery)}")


def _print_times(rows: Rows) -> None:
    columns = [name for name in COLUMNS if name != "algorithm" or "algorithm" in rows[0]]
    more = {"bandwidth_host_gbps": "Gb/s", "software_us": "in software"}
    also = [name for name in more if name in rows[0]]
    executed = rows[0]["verified"] is not None
    columns[-1:] = [*(more[name] for name in also), *(["verified"] if executed else [])]
    print_table(
        columns,
        (
            [
                row["bytes"],
                *([row["algorithm"]] if "algorithm" in row else []),
                *(
                    row[f"{name}_{end}{unit}"]
                    for end in ("kernel", "host")
                    for name, unit in (("time", "_us"), ("bound", "_us"), ("share", ""))
                ),
                *(row[name] for name in also),
                *([_yes(row["verified"])] if executed else []),
            ]
            for row in rows
        ),
        left=("algorithm", "verified"),
    )


def _collective(name: str) -> click.Command:
    """The subcommand of a collective, with the options that it has."""
    reduces, rooted = name in bench_data.REDUCTIONS, name in bench_data.ROOTED

    def run(
        cluster_name: str,
        faults: str | None,
        engine: str,
        ranks: int | None,
        placement_name: str,
        algorithm: str,
        picture: Path | None,
        json_file: Path | None,
        seed: int = 1,
        sizes: str = "4",
        reproducible: bool = False,
        root: int = 0,
        op: str = "sum",
        datatype: str | None = None,
    ) -> None:
        if picture:
            check_plot(picture)
        cluster = Cluster.load(cluster_name, faults)
        if reproducible:
            if algorithm not in ("auto", "tree"):
                raise InputError(f"--reproducible combines in the order of the tree, and {algorithm} has another one")
            cluster = cluster.by_rank()
            algorithm = "auto" if name in ("scan", "exscan") else "tree"
        cluster = with_engine(cluster, engine)
        wanted = bench.parse_sizes(sizes)
        if datatype is None:  # OSU's default, so that a size of 4 bytes is whole
            datatype = "float64" if all(size % 8 == 0 for size in wanted) else "float32"
        plan = bench.CollectivePlan(
            cluster,
            name,
            ranks or cluster.topology.hosts,
            wanted,
            algorithm,
            Operator[op.upper()],
            Datatype[datatype.upper()],
            root,
            seed,
            placement_name,
        )
        if engine == "model":
            if algorithm != "auto":
                raise InputError("--engine model knows no --algorithm: each collective has one closed form")
            rows = list(bench_model.collective_rows(plan))
        else:
            with progress_bar(name) as progress:
                rows = list(bench.measure_collective(plan, progress, 1 if cluster.routers else os.cpu_count() or 1))
        about = f"{name} of {plan.ranks} ranks on {cluster.name}"
        if reduces:
            about += f": {op} of {datatype}"
        about += f", root {root}" if rooted else ""
        about += ", reproducible" if reproducible else ""
        print_line(about + _CLOSED * (engine == "model") + "; times in us")
        _print_times(rows)
        _print_recoveries(rows)
        _finish(rows, picture, json_file, cluster, data=seed, **placement.seeds(placement_name))

    parts = [
        _common,
        _engine(*ENGINES, "model"),
        click.option(
            "--ranks",
            type=click.IntRange(1),
            metavar="N",
            help="All nodes where it is not given.",
        ),
        placement.option,
        click.option(
            "--algorithm",
            type=click.Choice(["auto", *(algorithm.name.lower() for algorithm in Algorithm)]),
            default="auto",
            show_default=True,
            help="auto: the one that is fastest at a size.",
        ),
    ]
    if name != "barrier":
        parts += [_sizes, _seed]
    if rooted:
        parts.append(
            click.option("--root", type=click.IntRange(0), default=0, show_default=True, help="The root's rank.")
        )
    if reduces:
        operators = [op.name.lower() for op in Operator if op != Operator.NONE]
        parts += [
            click.option("--op", type=click.Choice(operators), default="sum", show_default=True, help="What combines."),
            click.option(
                "--type",
                "datatype",
                type=click.Choice([t.name.lower() for t in Datatype]),
                help="Of the elements; float64 where all sizes are multiples of 8 bytes, else float32.",
            ),
            click.option(
                "--reproducible",
                is_flag=True,
                help="In an order of the ranks' numbers alone: the same bits on every cluster, in every placement.",
            ),
        ]
    return click.command(name, help=SYSTEM.operations[name].help)(_options(*parts)(run))


def _message(name: str) -> click.Command:
    def run(
        cluster_name: str,
        faults: str | None,
        engine: str,
        picture: Path | None,
        json_file: Path | None,
        sizes: str,
        hops: int,
    ) -> None:
        if picture:
            check_plot(picture)
        cluster = Cluster.load(cluster_name, faults)
        wanted = bench.parse_sizes(sizes)
        cluster = with_engine(cluster, engine)
        if engine == "model":
            rows = list(bench_model.message_rows(cluster, name, wanted, hops))
        else:
            with progress_bar(name) as progress:
                rows = list(bench_messages.measure_messages(cluster, name, wanted, hops, progress))
        about = f"{name} from node 0 to node {bench_messages.peer_at(cluster, hops)}, {hops} hop{'s' * (hops > 1)}"
        print_line(f"{about}, on {cluster.name}{_CLOSED * (engine == 'model')}; times in us")
        _print_times(rows)
        _print_recoveries(rows)
        _finish(rows, picture, json_file, cluster)

    hops = click.option(
        "--hops", type=click.IntRange(1), default=1, show_default=True, help="Links between the two nodes."
    )
    return click.command(name, help=SYSTEM.operations[name].help)(
        _options(_common, _engine(*ENGINES, "model"), _sizes, hops)(run)
    )


class Load(click.ParamType[float | str]):
    """Flits per node and cycle, or `sweep`."""

    name = "load"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value == "sweep":
            return "sweep"
        try:
            load = float(value)
        except ValueError:
            load = -1.0
        if not 0 < load <= 1:
            self.fail(
                f"{value!r} is no load; it is above 0 and at most 1 flit per node and cycle, or 'sweep'", param, ctx
            )
        return load


@click.command()
@_common
@_engine("sim")
@click.option(
    "--pattern",
    type=click.Choice(["uniform", "transpose", "hotspot"]),
    default="uniform",
    show_default=True,
    help="Where packets go: anywhere; row and column swapped; a tenth of them to node 0.",
)
@click.option(
    "--packet", type=click.Choice(["1", "2", "4", "8", "16"]), default="8", show_default=True, help="Flits of a packet."
)
@click.option(
    "--load",
    type=Load(),
    default=0.2,
    show_default=True,
    metavar="X",
    help="Flits offered per node and cycle; 'sweep' goes from 0.05 to saturation, where latency is three times that.",
)
@click.option("--cycles", type=click.IntRange(1), default=100_000, show_default=True, help="Cycles that are measured.")
@click.option("--warmup", type=click.IntRange(0), default=10_000, show_default=True, help="Cycles before them.")
@_seed
def traffic(
    cluster_name: str,
    faults: str | None,
    engine: str,
    picture: Path | None,
    json_file: Path | None,
    pattern: str,
    packet: str,
    load: float | str,
    cycles: int,
    warmup: int,
    seed: int,
) -> None:
    """Random traffic on the plain network, every flit checked where it arrives."""
    if picture:
        check_plot(picture)
    plan = bench_traffic.TrafficPlan(Cluster.load(cluster_name, faults), pattern, int(packet), cycles, warmup, seed)
    with progress_bar("traffic") as progress:
        rows = (
            [bench_traffic.measure_traffic(plan, load, progress)]
            if isinstance(load, float)
            else list(bench_traffic.sweep_traffic(plan, progress))
        )
    rows.sort(key=lambda row: float(row["load"]))
    print_line(
        f"{pattern} traffic of {packet}-flit packets on {plan.cluster.name}, {cycles} cycles; latencies in cycles"
    )
    print_table(
        TRAFFIC_COLUMNS,
        (
            [
                row["load"],
                row["accepted_load"],
                row["average_latency_cycles"],
                row["average_hops"],
                *(row[what] / row["cpu_s"] / 1e6 if row["cpu_s"] else None for what in ("flit_hops", "router_cycles")),
                _yes(row["verified"]),
            ]
            for row in rows
        ),
        left=("verified",),
    )
    for row in rows:
        if row.get("saturation"):
            click.echo(f"saturation at load {row['load']:g}")
    _finish(rows, picture, json_file, plan.cluster, traffic=seed)


OPERATIONS: dict[str, click.Command] = {
    **{name: _collective(name) for name in bench.COLLECTIVES},
    **{name: _message(name) for name in ("latency", "bandwidth")},
    "traffic": traffic,
}
