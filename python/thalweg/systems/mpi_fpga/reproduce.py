# SPDX-License-Identifier: Apache-2.0
"""Evaluation of the MPI-FPGA paper: its equations, Tables 2 to 5, and Figures 8 to 14.

Times are host to host, including PCIe (section 6.2.1), with one rank per node, all ranks starting at once on an idle
network, in double precision if a size permits. The paper does not give the shapes of its tori of 32, 64 and 128 nodes:
here 4x4x2, 4x4x4 and 4x4x8, numbered along their rows. Sizes of reduce-scatter are those of the whole vector: blocks of
1 MB would need more than Table 4's times for their bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.bench.operation import one_of
from thalweg.cluster import topology
from thalweg.errors import CheckFailed, InputError
from thalweg.papers import Row, mean, published, short
from thalweg.spec import Datatype
from thalweg.systems import systems
from thalweg.systems.mpi_fpga import bench, bench_messages
from thalweg.systems.mpi_fpga import reproduce_programs as programs
from thalweg.systems.mpi_fpga.bench import CollectivePlan, HostTime
from thalweg.systems.mpi_fpga.cluster import Cluster
from thalweg.systems.mpi_fpga.limits import FLIT_BYTES
from thalweg.systems.mpi_fpga.spec import Algorithm

PAPER = "mpi-fpga"
DIRECT = {32: "mpi-fpga-torus-4x4x2", 64: "mpi-fpga-torus-4x4x4", 128: "mpi-fpga-torus-4x4x8"}
OTHER_SHAPES = {32: [(8, 2, 2)], 64: [(8, 4, 2)], 128: [(8, 4, 4), (8, 8, 2)]}
COLLECTIVES = ("allgather", "allreduce", "broadcast", "gather", "reduce", "reduce_scatter", "scatter")
SOME_SIZES = (8, 1 << 10, 4 << 10, 64 << 10, 1 << 20)
ALL_SIZES = tuple(4 << step for step in range(21))
TABLE_SIZES = (1 << 10, 1 << 20)
SHORT = 16 << 10
"""Maximum size in bytes for Table 1's algorithms for short messages."""
BY_SIZE = {
    "allgather": ([Algorithm.EXCHANGE, Algorithm.RING], [Algorithm.RING]),
    "allreduce": ([Algorithm.EXCHANGE], [Algorithm.TREE]),
    "broadcast": ([Algorithm.TREE], [Algorithm.TREE, Algorithm.RING]),
}
"""Algorithms of Table 1 that are implemented, for short and for long messages; the fastest is used. Default: tree."""
PCIE_NS = (0, 130, 520, 1040)
RADICES = (8, 16, 28)
SCALED = (2, 4, 8, 16, 32, 64, 128)


Progress = Callable[[str, float], None]
"""Called with a label of the current work, and the completed fraction, 0 to 1."""


class Measurements:
    """Times of collectives, each measured once and verified."""

    def __init__(self, allgather_bytes: int) -> None:
        self._allgather = allgather_bytes
        self._known: dict[tuple[str, str, int], HostTime] = {}
        self._loaded: dict[str, Cluster] = {}
        self.clusters: dict[str, Cluster] = {}  #: clusters of the measurements

    def cluster(self, name: str) -> Cluster:
        if name not in self._loaded:
            self._loaded[name] = Cluster.load(name)
        return self._loaded[name]

    def simulated(self, cluster: Cluster, operation: str, size: int) -> bool:
        """True unless the results of an allgather, over all ranks, are too large."""
        return operation != "allgather" or cluster.topology.hosts**2 * size <= self._allgather

    def time(self, cluster: Cluster, operation: str, size: int) -> HostTime:
        """Returns the time on all hosts of a cluster; for reduce-scatter `size` is the whole vector. Raises CheckFailed
        for a wrong result."""
        key = cluster.name, operation, size
        self.clusters[cluster.name] = cluster
        if key not in self._known:
            ranks = cluster.topology.hosts
            block = size // ranks if operation == "reduce_scatter" else size
            datatype = Datatype.FLOAT64 if block % 8 == 0 else Datatype.FLOAT32
            plan = CollectivePlan(cluster, operation, ranks, [block], datatype=datatype)
            time = bench.host_time(plan, block, _algorithms(plan, size))
            if not time.verified:
                raise CheckFailed(f"{operation} of {size} bytes on {cluster.name} gave a wrong result")
            self._known[key] = time
        return self._known[key]

    def us(self, cluster: Cluster, operation: str, size: int) -> float:
        """Returns the time in us; extrapolated linearly from the two largest simulated powers of two if not simulated."""
        if self.simulated(cluster, operation, size):
            return self.time(cluster, operation, size).us
        last = size
        while not self.simulated(cluster, operation, last):
            last //= 2
        longer, shorter = (self.time(cluster, operation, each).us for each in (last, last // 2))
        return longer + (longer - shorter) * (size - last) / (last // 2)


def _algorithms(plan: CollectivePlan, size: int) -> list[Algorithm]:
    """Returns the paper's algorithms on the direct network (Table 1, section 6.2.1), tree or exchange on indirect ones."""
    if plan.cluster.values.collective.trees == "rank":
        table = BY_SIZE.get(plan.operation, ([], []))[size > SHORT]
        return [a for a in table if a in plan.algorithms] or [Algorithm.TREE]
    return [a for a in plan.algorithms if a in (Algorithm.TREE, Algorithm.EXCHANGE)]


def variant(cluster: Cluster, table: str, **values: float) -> Cluster:
    """Returns the cluster with other values in a table of its file."""
    changed = getattr(cluster.values, table).model_copy(update=values)
    name = f"{cluster.name} with " + " and ".join(f"{key} = {value:g}" for key, value in values.items())
    return replace(cluster, name=name, values=cluster.values.model_copy(update={table: changed}))


def reshaped(cluster: Cluster, size: Sequence[int]) -> Cluster:
    """Returns a torus of another size with equal values."""
    name = "torus " + "x".join(map(str, size))
    return replace(cluster, name=name, topology=topology.build("torus", list(size), (), 1))


def own_links(cluster: Cluster) -> Cluster:
    """Returns a network of as many nodes, with a link and a local port for each edge of their binomial tree."""
    nodes = cluster.topology.hosts
    own = topology.build("edges", [nodes], [(rank & (rank - 1), rank) for rank in range(1, nodes)])
    name = f"{nodes} nodes with a link for each edge of the tree"
    ported = variant(cluster, "collective", ports=own.link_ports)
    return replace(ported, name=name, topology=own).with_routing("up-down")


def indirect(cluster: Cluster, radix: int, hosts: int) -> Cluster:
    """Returns a fat-tree preset with another number of hosts."""
    leaves = cluster.values.topology
    name = f"indirect-{radix}, {hosts} hosts"
    tree = topology.build("fattree", [hosts], radix=radix, oversubscription=leaves.oversubscription)
    return replace(cluster, name=name, topology=tree)


@dataclass
class Step:
    """A part of the work; `weight` is its approximate duration in seconds."""

    what: str
    weight: float
    run: Callable[[], list[Row]]


class Evaluation:
    """All rows, by steps. With `full`, every size from 4 B to 4 MB; else five."""

    def __init__(self, full: bool = False, collectives: Sequence[str] = COLLECTIVES) -> None:
        self.full = full
        self.collectives = collectives
        self.partial = tuple(collectives) != COLLECTIVES
        self.numbers = published(PAPER)
        self.measured = Measurements((1 << 31) if full else (1 << 29))
        self._evidence: dict[tuple[str, int], str] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        return ALL_SIZES if self.full else SOME_SIZES

    def direct(self, nodes: int) -> Cluster:
        return self.measured.cluster(DIRECT[nodes])

    def steps(self) -> list[Step]:
        steps = [Step("equations and Tables 2 and 3", 1, self.tables)]
        for nodes in DIRECT:
            for operation in self.collectives:
                weight = nodes / 16 * (8 if operation == "allgather" else 1) * (6 if self.full else 1)
                what = f"{operation} on {nodes} nodes"
                steps.append(Step(what, weight, lambda nodes=nodes, operation=operation: self.curve(operation, nodes)))  # type: ignore[misc]
        steps.append(Step("mechanisms", 30, self.mechanisms))
        steps.append(Step("speed-ups", 1, self.speedups))
        if not self.partial:
            steps.append(Step("programs", 60, self.programs))
            steps.append(Step("indirect networks", 60, self.indirect_networks))
        steps.append(Step("PCIe's latency", 4, self.pcie))
        steps.append(Step("other tori", 10, self.shapes))
        return steps

    def rows(self, progress: Progress) -> Iterator[Row]:
        steps = self.steps()
        whole, done = sum(step.weight for step in steps), 0.0
        for step in steps:
            progress(step.what, done / whole)
            yield from step.run()
            done += step.weight

    def _row(self, id_: str, what: str, measured: Any, note: str = "", part: Any = None, **about: Any) -> Row:
        number = self.numbers[id_]
        value = number.get("value")
        return Row(id_, what, value if part is None else part, measured, number["unit"], note, about)

    def tables(self) -> list[Row]:
        """Yields values that follow from the presets, and one link as measured."""
        cluster = self.direct(128)
        latency = next(bench_messages.measure_messages(cluster, "latency", [8], 1)).own["time_kernel_us"] * 1000
        peak = next(bench_messages.measure_messages(cluster, "bandwidth", [64 << 10], 1)).own["gbit_per_s_kernel"]
        # a clock at which a port has the link's rate; times in nanoseconds are kept
        fast = variant(cluster, "clock", frequency_mhz=95.9e3 / 256)
        fast = variant(fast, "router", margin_flits=fast.least_margin)
        faster = next(bench_messages.measure_messages(fast, "bandwidth", [64 << 10], 1)).own["gbit_per_s_kernel"]
        fifo = cluster.least_port_buffer
        contexts = cluster.values.collective.contexts
        return [
            self._row("mpifpga.phit", "phit", cluster.values.router.flit_bits),
            self._row("mpifpga.clock", "clock", cluster.values.clock.frequency_mhz),
            self._row(
                "mpifpga.link.latency",
                "8 bytes from node to node, one link and the routers at its ends",
                latency,
                f"the link has 440 ns; {latency - 440:.0f} ns are the routers at both ends",
            ),
            self._row(
                "mpifpga.link.peak",
                "64 messages of 64 KB over one link",
                peak,
                f"256 bits at 250 MHz are {cluster.port_gbps:.0f} Gb/s, and a packet of 16 flits holds its channel for 18 cycles: "
                f"{cluster.port_gbps * 16 / 18:.1f}. With a clock of 374.6 MHz, at which a port has the link's 95.9 Gb/s, it "
                f"is {faster:.1f}",
            ),
            self._row(
                "mpifpga.ct", "bits of the communicator table: Equation 1 for 64 K ranks", table_bits(contexts, 16)
            ),
            self._row(
                "mpifpga.input_fifo",
                "bytes that Equation 2 asks for on 128 nodes",
                fifo,
                f"the paper has 48 KB without its margin; with the least one that is safe, {cluster.least_margin} flits, "
                f"depth 7 and q = 2 it is {fifo} bytes, so 48 KB are enough",
            ),
            *(self._units(design) for design in self.numbers["mpifpga.units"]["value"]),
        ]

    def _units(self, design: str) -> Row:
        """Table 3's AgLUs of a design: SA x R x 4 (section 4.3)."""
        radix = design.removeprefix("indirect-")
        cluster = self.direct(128) if design == radix else self.measured.cluster(f"mpi-fpga-fattree-{radix}")
        units = cluster.values.collective.aggregation_units * cluster.topology.link_ports * FLIT_BYTES // 8
        part = self.numbers["mpifpga.units"]["value"][design]
        return self._row("mpifpga.units", f"AgLUs of {design}: units x ports x 256/64", units, part=part, design=design)

    def curve(self, operation: str, nodes: int) -> list[Row]:
        """Yields points of Figures 8 and 9."""
        cluster = self.direct(nodes)
        rows = []
        for size in self.sizes:
            if operation == "reduce_scatter" and size < 4 * nodes:
                continue
            us = self.measured.us(cluster, operation, size)
            about: dict[str, Any] = {"collective": operation, "nodes": nodes, "bytes": size, "network": "direct"}
            note = "not simulated: on from shorter ones in a straight line"
            if self.measured.simulated(cluster, operation, size):
                time = self.measured.time(cluster, operation, size)
                about |= {"algorithm": time.algorithm.name.lower(), "bound_us": time.bound_us, "busy": time.busy}
                note = ""
            rows.append(self._row("mpifpga.curves", f"{operation}, {nodes} nodes, {short(size)}", us, note, **about))
        return rows

    def speedup(self, operation: str, nodes: int, size: int) -> tuple[list[float], list[float], float]:
        """Returns the smallest and largest speed-up by Table 4, the software's times, and ours, in us."""
        table = self.numbers["mpifpga.cpu"]
        _, largest, smallest = table["value"][operation][str(nodes)][table["sizes"].index(size)]
        us = self.measured.us(self.direct(nodes), operation, size)
        return [smallest / us, largest / us], [smallest, largest], us

    def speedups(self) -> list[Row]:
        """Yields speed-ups against Table 4: individually, geometric means, and the smallest and the largest."""
        rows: list[Row] = []
        single: list[Row] = []
        for operation in self.collectives:
            for nodes in DIRECT:
                for size in TABLE_SIZES:
                    speedup, software, us = self.speedup(operation, nodes, size)
                    about: dict[str, Any] = {"collective": operation, "nodes": nodes, "bytes": size}
                    about |= {"software_us": software, "fabric_us": us}
                    what = f"{operation}, {nodes} nodes, {short(size)}"
                    note = self._why(operation, nodes, size, software)
                    single.append(self._row("mpifpga.speedup", what, speedup, note, **about))
                both = [mean(end) for end in zip(*(row.measured for row in single[-2:]), strict=True)]
                what = f"{operation}, {nodes} nodes, geometric mean of both"
                note = next((row.note for row in reversed(single[-2:]) if row.differs), "")
                rows += single[-2:]
                rows.append(self._row("mpifpga.speedup", what, both, note, collective=operation, nodes=nodes))
        ends = self.numbers["mpifpga.speedup"]["value"]
        for end, which, word in ((0, min, "smallest"), (1, max, "largest")):
            row = which(single, key=lambda row: mean(row.measured))  # type: ignore[arg-type]
            what = f"{word} of 1 KB for short and 1 MB for long sizes: {row.what}"
            rows.append(self._row("mpifpga.speedup", what, row.measured, row.note, part=ends[end]))
        if "gather" in self.collectives:
            us = self.measured.us(self.direct(128), "gather", 1 << 10)
            what = "gather of 1 KB from each of 128 nodes"
            rows.append(self._row("mpifpga.gather.128n.1KB", what, us, self._evidence["gather", 128]))
        return rows

    def _why(self, operation: str, nodes: int, size: int, software: list[float]) -> str:
        """Returns the limit of a long collective: PCIe by its bound, others as measured by `mechanisms`."""
        if size < 64 << 10:
            return ""
        cluster = self.direct(nodes)
        block = size // nodes if operation == "reduce_scatter" else size
        bound = bench.host_bound_us(CollectivePlan(cluster, operation, nodes, [block]), block)
        parts = []
        if bound and software[1] / bound < 3:
            parts.append(f"PCIe alone needs {bound:.0f} us: no network gives more than {software[1] / bound:.2f}")
        parts.append(self._evidence[operation, nodes])
        return "; ".join(parts)

    def mechanisms(self) -> list[Row]:
        """Yields the limits of long collectives: each is measured again without the limiting part."""
        return [row for nodes in DIRECT for row in self._mechanisms(nodes)]

    def _mechanisms(self, nodes: int) -> Iterator[Row]:
        torus = self.direct(nodes)
        free = variant(torus, "host", pcie_rate_gbps=1000, dma_flits_per_cycle=16)
        apart = own_links(torus)
        host = "with PCIe and DMA without limits"
        shared = "with a link for each edge of its tree, which share links on the torus"
        for operation, size, without, what in (
            ("allgather", (4 << 20) // nodes, free, host),
            ("gather", 128 << 10, free, host),
            ("scatter", 128 << 10, free, host),
            ("broadcast", 1 << 20, free, host),
            ("reduce", 1 << 20, apart, shared),
            ("reduce_scatter", 1 << 20, apart, shared),
            ("allreduce", 1 << 20, apart, shared),
        ):
            if operation not in self.collectives:
                continue
            before, after = (self.measured.time(cluster, operation, size) for cluster in (torus, without))
            note = (
                f"{before.us / after.us:.2f} times as fast {what} ({short(size)}: {before.us:.0f} and {after.us:.0f} us, "
                f"{before.busiest_bytes / size:.1f} and {after.busiest_bytes / size:.1f} times the size on the busiest link, "
                f"busy {100 * before.busy:.0f} and {100 * after.busy:.0f} %)"
            )
            about: dict[str, Any] = {"collective": operation, "nodes": nodes, "bytes": size, "network": without.name}
            about["changed"] = what
            if size in TABLE_SIZES:
                _, software, _ = self.speedup(operation, nodes, size)
                about["speedup"] = [end / after.us for end in software]
                note += f": {about['speedup'][0]:.1f} to {about['speedup'][1]:.1f} times as fast as Table 4's software"
            self._evidence[operation, nodes] = note
            yield self._row("mpifpga.curves", f"{operation}, {nodes} nodes, {short(size)}", after.us, note, **about)

    def _indirect(self, radix: int, hosts: int) -> Cluster:
        return indirect(self.measured.cluster(f"mpi-fpga-fattree-{radix}"), radix, hosts)

    def indirect_networks(self) -> list[Row]:
        """Figures 11 to 13: short allgathers and allreduces on fat trees, scaling of an allreduce with hosts, and SHArP."""
        sizes = [size for size in self.sizes if size <= 4 << 10]
        rows, ratios = [], []
        for operation in ("allgather", "allreduce"):
            for nodes in DIRECT:
                for radix in RADICES:
                    cluster = self._indirect(radix, nodes)
                    faster = []
                    for size in sizes:
                        time = self.measured.time(cluster, operation, size)
                        faster.append(self.measured.time(self.direct(nodes), operation, size).us / time.us)
                        about: dict[str, Any] = {"collective": operation, "nodes": nodes, "bytes": size}
                        about |= {"network": f"indirect-{radix}", "algorithm": time.algorithm.name.lower()}
                        what = f"{operation}, {nodes} nodes, {short(size)}, radix {radix}"
                        rows.append(self._row("mpifpga.curves", what, time.us, bound_us=time.bound_us, **about))
                    what = f"{operation}, {nodes} nodes, radix {radix}, geometric mean of {len(sizes)} sizes up to 4 KB"
                    about = {"collective": operation, "nodes": nodes, "radix": radix}
                    ratios.append(self._row("mpifpga.indirect_over_direct", what, mean(faster), **about))
        for nodes in SCALED:
            time = self.measured.time(self._indirect(28, nodes), "allreduce", 2 << 10)
            what = f"allreduce of 2 KB on {nodes} nodes, radix 28"
            rows.append(self._row("mpifpga.scaling", what, time.us, nodes=nodes, bytes=2 << 10, bound_us=time.bound_us))
        return [*rows, *ratios, *self._sharp()]

    def _sharp(self) -> Iterator[Row]:
        """SHArP's published numbers: an allreduce on 128 hosts, short, and as long as several of its reductions."""
        cluster = self._indirect(28, 128)
        us = {size: self.measured.time(cluster, "allreduce", size).us for size in (8, 256, 4 << 10)}
        note = (
            "SHArP posts what is longer than its hardware's largest message as several reductions (section 6.2.2), here it is one "
            f"stream: {us[4 << 10] / us[8]:.2f} times the time of 8 bytes. 16 reductions of 256 bytes one after another "
            f"would be {16 * us[256]:.0f} us"
        )
        for size, theirs in self.numbers["mpifpga.sharp"]["value"].items():
            what = f"allreduce of {short(int(size))} bytes on 128 nodes, radix 28, beside SHArP"
            of = us[int(size)]
            yield self._row("mpifpga.sharp", what, of, note, part=theirs, nodes=128, bytes=int(size))

    def programs(self) -> list[Row]:
        """Table 5 and Figure 14 with programs of our own in two sizes; computation takes its time on this computer."""
        rows = []
        for program, (name, *sizes) in programs.PROGRAMS.items():
            for nodes in (64, 128) if self.full else (64,):
                reports = [programs.run(name, arguments, nodes, DIRECT[nodes]) for arguments in sizes]
                taken = [100 * (1 - report["virtual_time_us"] / report["software_time_us"]) for report in reports]
                note = "; ".join(
                    f"{name} {' '.join(arguments)}: {report['software_time_us'] / 1e3:.2f} ms with its collectives in software, "
                    f"{percent:.2f} % less in the network"
                    for arguments, report, percent in zip(sizes, reports, taken, strict=True)
                )
                rows.append(
                    self._row(
                        "mpifpga.apps",
                        f"{program}, {nodes} nodes: {name} {' '.join(sizes[1])} of our own",
                        taken[1],
                        f"another program, of another size: the more work, the less is left to gain. {note}",
                        part=self.numbers["mpifpga.apps"]["value"][program][str(nodes)],
                        program=name,
                        nodes=nodes,
                        taken_off_percent=taken,
                    )
                )
                for instance in reports[1]["instances"]:
                    if instance["offloaded"] and instance["software_us"] is not None:
                        rows.append(self._instance(name, nodes, instance))
        return rows

    def _instance(self, program: str, nodes: int, instance: dict[str, Any]) -> Row:
        what = f"{program} on {nodes} nodes: {instance['function']} of {instance['bytes']} bytes at {instance['place']}"
        note = (
            f"{instance['operations']} times; {instance['software_us']:.2f} us in software, {instance['fabric_us']:.2f} in the "
            f"network; the ranks come within {instance['skew_us']:.1f}"
        )
        return self._row("mpifpga.instances", what, instance["speedup"], note, program=program, nodes=nodes, **instance)

    def pcie(self) -> list[Row]:
        """Short collectives with other PCIe latencies, since the paper gives none."""
        rows = []
        cluster = self.direct(64)
        own = cluster.values.host.pcie_latency_ns
        for operation in self.collectives:
            size = 1 << 10
            base = self.measured.time(cluster, operation, size).us
            for latency in sorted({own, *PCIE_NS}):
                other = variant(cluster, "host", pcie_latency_ns=float(latency))
                us = self.measured.time(other, operation, size).us
                rows.append(
                    self._row(
                        "mpifpga.host",
                        f"{operation}, 64 nodes, {short(size)}, PCIe {latency:g} ns each way",
                        us,
                        "the presets' latency"
                        if latency == own
                        else f"{us / base:.2f} times as long as with {own:g} ns",
                        collective=operation,
                        nodes=64,
                        bytes=size,
                        pcie_latency_ns=latency,
                    )
                )
        return rows

    def shapes(self) -> list[Row]:
        """Other tori with equally many nodes, since the paper does not give their shapes."""
        rows = []
        for nodes, shapes in OTHER_SHAPES.items():
            cluster = self.direct(nodes)
            for shape in (cluster.topology.size, *shapes):
                other = reshaped(cluster, shape)
                for operation in self.collectives:
                    base, us = (self.measured.time(c, operation, 1 << 10).us for c in (cluster, other))
                    rows.append(
                        self._row(
                            "mpifpga.curves",
                            f"{operation}, {nodes} nodes, {short(1 << 10)}, {other.name}",
                            us,
                            f"{us / base:.2f} times as long as on {DIRECT[nodes]}",
                            collective=operation,
                            nodes=nodes,
                            bytes=1 << 10,
                            network=other.name,
                            shape="x".join(map(str, shape)),
                        )
                    )
        return rows


def evaluation(paper: str, only: Sequence[str] = (), full: bool = False) -> Evaluation:
    """Returns the paper's evaluation, optionally of some collectives only. Raises InputError."""
    if paper != PAPER:
        known = ", ".join(name for name, system in systems().items() if "reproduce" in system.commands)
        raise InputError(f"unknown paper {paper!r}; known are {known}")
    return Evaluation(full, tuple(one_of("collective", name, COLLECTIVES) for name in only) or COLLECTIVES)


def reproduce(paper: str, *, only: str | Sequence[str] = (), full: bool = False) -> list[dict[str, Any]]:
    """Implements `thalweg reproduce mpi-fpga`. Raises InputError."""
    requested = [only] if isinstance(only, str) else only
    return [row.as_json() for row in evaluation(paper, requested, full).rows(lambda what, done: None)]


def table_bits(contexts: int, rank_bits: int) -> int:
    """Equation 1: a row has the size, the own rank, a rank for each of its bits, and 8 bits."""
    return (rank_bits * (rank_bits + 2) + 8) * contexts
