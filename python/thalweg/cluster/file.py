"""Cluster files: what may stand in one, and how one is read. Bad input is named with file, line, key and what would be right.

A file is laid over its `base` (a path beside it), and that over clusters/base/plain.toml. The models here hold no values.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thalweg.cluster import toml_lines, topology
from thalweg.cluster.toml_lines import KeyPath
from thalweg.cluster.topology import MAX_NODES, Topology
from thalweg.errors import InputError
from thalweg.resources import resource

PLAIN = "clusters/base/plain.toml"

FAT_TREE = ("radix", "oversubscription", "levels")  # keys of [topology] that only a fat tree has

_PLAINER = {"model_type": "be a table", "list_type": "be an array", "string_pattern_mismatch": "be printable"}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Node = Annotated[int, Field(ge=0, lt=MAX_NODES)]


class TopologyTable(_Table):
    shape: Literal["line", "ring", "mesh", "torus", "star", "fattree", "edges"] = Field(
        description="how the nodes are joined"
    )
    size: list[Annotated[int, Field(ge=2, le=MAX_NODES)]] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="nodes of each dimension; one number for a line, ring or star; hosts of a fattree",
    )
    edges: list[Annotated[list[Node], Field(min_length=2, max_length=2)]] | None = Field(
        None, min_length=1, description="pairs of nodes that a link joins, for the shape edges"
    )
    radix: int | None = Field(None, ge=2, le=128, description="ports of each switch of a fattree")
    oversubscription: int | None = Field(
        None, ge=1, le=127, description="ports to hosts of a fattree's leaf switches for each port upwards"
    )
    levels: int | None = Field(
        None, ge=1, le=8, description="levels of switches of a fattree; by its hosts if left out"
    )
    planes: int = Field(1, ge=1, le=4, description="copies of all links, each on ports of its own")


class ClockTable(_Table):
    frequency_mhz: float = Field(ge=1, le=10_000, description="clock of routers and links in MHz")


class LinkTable(_Table):
    latency_ns: float = Field(ge=0, le=1e9, description="time from a router's output to the next one's input in ns")
    rate_gbps: float = Field(ge=0.1, le=100_000, description="payload of one direction in Gb/s")


class RouterTable(_Table):
    flit_bits: Literal[256] = Field(description="bits that a port moves in a cycle")
    virtual_channels: int = Field(ge=2, le=16, description="virtual channels of every port")
    port_buffer_bytes: int = Field(
        ge=64, le=2**20, description="input buffer of a link port, shared by its virtual channels"
    )
    flow: Literal["credits", "margin"] = Field(description="how a full buffer holds its upstream back")
    margin_flits: int = Field(
        0, ge=0, le=2**24, description="free flits of a virtual channel at which upstream is stopped"
    )


class HostTable(_Table):
    pcie_latency_ns: float = Field(ge=0, le=1e9, description="time from host memory to node or back in ns")
    pcie_rate_gbps: float = Field(ge=0.1, le=100_000, description="payload of one direction in Gb/s")
    dma_flits_per_cycle: int = Field(ge=1, le=16, description="flits that the DMA engine moves in a cycle")
    message_overhead_ns: float = Field(
        ge=0,
        le=1e9,
        description="software's time per message, at sender and receiver, of a collective that falls back, in ns",
    )
    memory_overhead_ns: float = Field(
        ge=0, le=1e9, description="time of a message without data between two ranks of one node, in ns"
    )
    memory_rate_gbps: float = Field(
        ge=0.1, le=100_000, description="rate at which data is copied from one rank of a node to another in Gb/s"
    )


class CollectiveTable(_Table):
    ports: int | None = Field(
        None,
        ge=1,
        le=32,
        description="router ports at which the collective unit sends; as many as link ports if left out",
    )
    trees: Literal["rank", "topology"] = Field(description="what a communicator's tree follows: rank numbers or links")
    contexts: int = Field(ge=1, le=32, description="rows of the communicator table")
    operations_in_flight: int = Field(ge=1, le=4, description="operations of one communicator under way at once")
    aggregation_units: int = Field(ge=1, le=32, description="joins that a node serves in the same cycle")
    slot_packets: int = Field(
        ge=1,
        le=65_535,
        description="buffer of one communicator and tree edge in packets of packet_flits, 65535 flits at most",
    )
    packet_flits: Literal[1, 2, 4, 8, 16, 32, 64] = Field(description="longest network packet in flits")
    long_packet_flits: Literal[1, 2, 4, 8, 16, 32, 64] | None = Field(
        None, description="longest packet of long streams and of all-to-alls in flits; packet_flits if left out"
    )
    lane_latency_cycles: int = Field(ge=1, le=1024, description="cycles of one combining step")


class SharingTable(_Table):
    slot_cycles: int = Field(ge=1, le=2**20, description="cycles of a slot, where jobs share the fabric by time slots")


Share = Annotated[float, Field(ge=0, lt=1)]


class LinkFaultsTable(_Table):
    """What happens on one link, where it is not what happens on all."""

    nodes: Annotated[list[Node], Field(min_length=2, max_length=2)] = Field(description="the two that it joins")
    port: int | None = Field(
        None,
        ge=0,
        le=255,
        description="that of the first node, where several links join the two; all of them if left out",
    )
    one_way: bool = Field(False, description="only to frames from the first node to the second")
    bit_error_rate: Share | None = Field(None, description="share of bits that flip")
    frames_lost: Share | None = Field(None, description="share of frames that get lost")
    frames_duplicated: Share | None = Field(
        None, description="share of frames that come again, in place of the next one"
    )
    down_at_us: float | None = Field(None, ge=0, le=1e9, description="time from which on no frame comes through, in us")
    up_at_us: float | None = Field(None, ge=0, le=1e9, description="time at which frames come through again, in us")


class FaultsTable(_Table):
    seed: int = Field(ge=0, lt=2**63, description="of all that is random about faults")
    bit_error_rate: Share = Field(description="share of bits of every link that flip")
    frames_lost: Share = Field(description="share of frames on every link that get lost")
    frames_duplicated: Share = Field(
        description="share of frames on every link that come again, in place of the next one"
    )
    silence_us: float = Field(
        gt=0, le=1e6, description="time without a good frame after which a link is given up, in us"
    )
    rebuild_us: float = Field(
        ge=0, le=1e9, description="time from then until the fabric goes on with routes around that link, in us"
    )
    links: list[LinkFaultsTable] = Field([], description="links on which something else happens")


class ClusterTable(_Table):
    """A cluster file, laid over its base."""

    description: str = Field("", pattern=r"^\P{C}*$", description="one line about the cluster")
    base: str | None = Field(None, description="file beside this one whose values hold where this one says nothing")
    routing: Literal["dimension-order", "up-down", "dfsssp"] | None = Field(
        None, description="routing algorithm; by the shape if left out"
    )
    topology: TopologyTable
    clock: ClockTable
    link: LinkTable
    router: RouterTable
    host: HostTable
    collective: CollectiveTable
    sharing: SharingTable
    faults: FaultsTable


class Place(NamedTuple):
    file: Path
    line: int


@dataclass(frozen=True)
class ClusterFile:
    """The values of a cluster and where each of them stands."""

    values: ClusterTable
    name: str
    places: dict[KeyPath, Place]

    def wrong(self, what: str, *keys: str) -> InputError:
        """The error that says `what` of some values (`router.flow`, `topology.edges.2`); the caller raises it.

        It names the line of the one that stands nearest to the user: in the file itself before its base, there before plain.
        """
        paths = [tuple(int(part) if part.isdigit() else part for part in key.split(".")) for key in keys]
        return _error(self.places, min(paths, key=self._remoteness), what, self.name)

    def _remoteness(self, path: KeyPath) -> int:
        file = str(_place(self.places, path).file)
        return 0 if file == self.name else 1 if file != str(resource(PLAIN)) else 2


def load(file: Path) -> ClusterFile:
    """Reads a cluster file with its bases. Raises InputError."""
    values, places = _layers(file, ())
    return parse(values, places, str(file))


def in_place(shape: str, size: list[int], planes: int, name: str) -> ClusterFile:
    """Plain values with a topology. Raises InputError."""
    plain, places = _layers(None, ())
    return parse(_over(plain, {"topology": {"shape": shape, "size": size, "planes": planes}}), places, name)


def with_faults(file: ClusterFile, given: str) -> ClusterFile:
    """The same with other values in [faults]: those of a file with that table alone, or `key=value,...`, where
    `down=A-B@T` and `down=A-B@T:U` cut the links between nodes A and B at T microseconds, until U. Raises InputError.
    """
    places: dict[KeyPath, Place] = {}
    if Path(given).is_file():
        values, lines = toml_lines.read(Path(given))
        places = {path: Place(Path(given), line) for path, line in lines.items()}
        for key in values:
            if key != "faults":
                raise _error(
                    places, (key,), f"{key!r} is not for a file of faults; it has the table [faults] alone", given
                )
    else:
        values = {"faults": _faults_in_place(given)}
    merged = _over(file.values.model_dump(exclude_none=True), values)
    others = {path: place for path, place in file.places.items() if path[0] != "faults"}
    return parse(merged, others | places, f"--faults {given}")


_CUT = re.compile(r"([0-9]{1,6})-([0-9]{1,6})@([0-9.]+)(?::([0-9.]+))?")


def _faults_in_place(given: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for word in given.split(","):
        key, _, text = word.strip().partition("=")
        try:
            if key == "down":
                cut = _CUT.fullmatch(text)
                if not cut:
                    raise ValueError
                link = {"nodes": [int(cut[1]), int(cut[2])], "down_at_us": float(cut[3])}
                table.setdefault("links", []).append(link | ({"up_at_us": float(cut[4])} if cut[4] else {}))
            else:
                table[key] = int(text) if key == "seed" else float(text)
        except ValueError:
            raise InputError(
                f"--faults {given}: {word!r} is neither a file nor key=number, such as bit_error_rate=1e-6, frames_lost=0.001 "
                "or down=0-1@20 (nodes, and microseconds)"
            ) from None
    return table


def parse(values: dict[str, Any], places: dict[KeyPath, Place], name: str) -> ClusterFile:
    """Values that have been read, as a cluster file. Raises InputError for the first that is wrong."""
    try:
        return ClusterFile(ClusterTable.model_validate(values), name, places)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # What is missing comes last: it may be what a mistyped key was to be.
        first = min(problems, key=lambda problem: (problem["type"] == "missing", _place(places, problem["loc"])))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise _error(places, first["loc"], _what(first) + more, name) from None


def topology_of(file: ClusterFile) -> Topology:
    """What a file says of nodes and links. Raises InputError."""
    table = file.values.topology
    if table.shape == "edges":
        if table.edges is None:
            raise file.wrong(
                "'edges' is missing in [topology]: a list of [node, node], a pair for each link", "topology"
            )
        if table.size is not None:
            raise file.wrong(
                "size goes with a regular shape; edges say themselves which nodes there are", "topology.size"
            )
        for index, (a, b) in enumerate(table.edges):
            if a == b:
                raise file.wrong(f"topology.edges[{index}] joins node {a} to itself", f"topology.edges.{index}")
        size = [max(max(edge) for edge in table.edges) + 1]
    else:
        if table.edges is not None:
            raise file.wrong(f"edges go with the shape edges; a {table.shape} has links of its own", "topology.edges")
        if table.size is None:
            raise file.wrong(
                f"'size' is missing in [topology]: the nodes of a {table.shape}, such as [4, 4]", "topology"
            )
        size = table.size
    for key in FAT_TREE:
        if table.shape != "fattree" and getattr(table, key) is not None:
            raise file.wrong(f"{key} goes with the shape fattree; this is a {table.shape}", f"topology.{key}")
    try:
        built = topology.build(
            table.shape,
            size,
            table.edges or (),
            table.planes,
            **{key: getattr(table, key) for key in FAT_TREE if getattr(table, key) is not None},
        )
    except ValueError as error:
        raise file.wrong(str(error), "topology.edges" if table.edges else "topology.size") from None
    if table.edges and built.unreachable is not None:
        a, b = built.unreachable
        raise file.wrong(
            f"there is no way from node {a} to node {b}; join all nodes, 0 to {built.nodes - 1}", "topology.edges"
        )
    return built


def schema() -> dict[str, Any]:
    """The JSON schema of a cluster file. Only the topology is required: all else has a value in the base."""
    result = ClusterTable.model_json_schema()
    result["required"] = ["topology"]
    for name, table in result["$defs"].items():
        if name not in (TopologyTable.__name__, LinkFaultsTable.__name__):
            table.pop("required", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "title": "Thalweg cluster"}


def _layers(file: Path | None, above: tuple[Path, ...]) -> tuple[dict[str, Any], dict[KeyPath, Place]]:
    """The values of a file over those of its bases, and where each stands; the plain values alone for None."""
    if file is None:
        plain = resource(PLAIN)
        values, lines = toml_lines.read(plain)
        return values, {path: Place(plain, line) for path, line in lines.items()}
    values, lines = toml_lines.read(file)
    places = {path: Place(file, line) for path, line in lines.items()}
    base = values.get("base")
    below = None
    if isinstance(base, str):
        below = file.parent / base
        if not below.is_file():
            raise _error(places, ("base",), f"base is {base!r}, and there is no such file beside this one", str(file))
        if below.resolve() in {path.resolve() for path in (file, *above)}:
            raise _error(
                places, ("base",), f"base leads back to {base!r}; it has to end in a file without one", str(file)
            )
    values_below, places_below = _layers(below, (file, *above))
    return _over(values_below, values), places_below | places


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        merged[key] = _over(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _place(places: dict[KeyPath, Place], path: KeyPath) -> Place:
    """Where a value stands, or else what it belongs to; line 0 where it stands in no file."""
    for length in range(len(path), 0, -1):
        if path[:length] in places:
            return places[path[:length]]
    return Place(Path(), 0)


def _error(places: dict[KeyPath, Place], path: KeyPath, what: str, name: str) -> InputError:
    place = _place(places, path)
    return InputError(what, place.file, place.line) if place.line else InputError(what, name)


def _dotted(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _table_at(path: KeyPath) -> type[BaseModel]:
    """The model of the table that the path leads to."""
    table: Any = ClusterTable
    for key in path:
        # An array's index leads to one of the tables in it.
        table = get_args(table)[0] if isinstance(key, int) else table.model_fields[key].annotation
    return table  # type: ignore[no-any-return]


def _what(problem: Any) -> str:
    """What is wrong with a value, and what would be right, from what pydantic found."""
    path: KeyPath = problem["loc"]
    key = path[-1] if path else ""
    if problem["type"] == "extra_forbidden":
        known = list(_table_at(path[:-1]).model_fields)
        near = difflib.get_close_matches(str(key), known, n=1)
        right = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
        return f"{key!r} is no key {_in(path[:-1])}; {right}"
    last = max((i for i, part in enumerate(path) if isinstance(part, str)), default=0)
    field = _table_at(path[:last]).model_fields[str(path[last])]
    meaning = field.description or "a table"
    if problem["type"] == "missing":
        return f"{key!r} is missing {_in(path[:-1])}: {meaning}"
    given = json.dumps(problem["input"], default=str, ensure_ascii=False)
    given = given if len(given) <= 40 else given[:37] + "..."
    if problem["type"] == "list_type" and isinstance(problem["input"], int):
        return f"{_dotted(path)} is {given}; write [{given}] ({meaning})"
    right = re.sub(r"^(Input|List) should | after validation, not .*$", "", problem["msg"])
    right = _PLAINER.get(problem["type"], right)
    return f"{_dotted(path)} is {given}; it should {right} ({meaning})"


def _in(path: KeyPath) -> str:
    return f"in [{_dotted(path)}]" if path else "in a cluster file"
