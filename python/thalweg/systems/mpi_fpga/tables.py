# SPDX-License-Identifier: Apache-2.0
"""Tables of MPI-FPGA's cluster files besides the topology; defaults are in clusters/base/plain.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from thalweg.cluster import toml_lines
from thalweg.cluster.file import ClusterFile as _ClusterFile
from thalweg.cluster.file import Location, Node, Table, TopologyTable, layers, over, parse, wrong_at
from thalweg.cluster.toml_lines import KeyPath
from thalweg.errors import InputError
from thalweg.resources import resource

PLAIN = "clusters/base/plain.toml"


RoutingAlgorithm = Literal["dimension-order", "up-down", "dfsssp"]


class ClockTable(Table):
    frequency_mhz: float = Field(ge=1, le=10_000, description="clock of routers and links in MHz")


class LinkTable(Table):
    latency_ns: float = Field(ge=0, le=1e9, description="latency from a router's output to the next one's input in ns")
    rate_gbps: float = Field(ge=0.1, le=100_000, description="payload rate per direction in Gb/s")


class RouterTable(Table):
    flit_bits: Literal[256] = Field(description="bits per cycle of a port")
    virtual_channels: int = Field(ge=2, le=16, description="virtual channels of every port")
    port_buffer_bytes: int = Field(
        ge=64, le=2**20, description="input buffer of a link port, shared by its virtual channels"
    )
    flow: Literal["credits", "margin"] = Field(description="flow control between routers")
    margin_flits: int = Field(
        0, ge=0, le=2**24, description="free flits of a virtual channel at which upstream is stopped"
    )


class HostTable(Table):
    pcie_latency_ns: float = Field(ge=0, le=1e9, description="time from host memory to node or back in ns")
    pcie_rate_gbps: float = Field(ge=0.1, le=100_000, description="payload rate per direction in Gb/s")
    dma_flits_per_cycle: int = Field(ge=1, le=16, description="flits per cycle of the DMA engine")
    message_overhead_ns: float = Field(
        ge=0,
        le=1e9,
        description="software overhead per message of a collective that falls back, at sender and receiver, in ns",
    )
    memory_overhead_ns: float = Field(
        ge=0, le=1e9, description="time of a message without data between two ranks of one node, in ns"
    )
    memory_rate_gbps: float = Field(
        ge=0.1, le=100_000, description="rate at which data is copied from one rank of a node to another in Gb/s"
    )


class CollectiveTable(Table):
    ports: int | None = Field(
        None,
        ge=1,
        le=32,
        description="router ports of the collective unit [default: as many as link ports]",
    )
    trees: Literal["rank", "topology"] = Field(
        description="construction of a communicator's tree: by rank numbers or by links"
    )
    contexts: int = Field(ge=1, le=32, description="rows of the communicator table")
    operations_in_flight: int = Field(
        ge=1, le=4, description="maximum number of concurrent operations per communicator"
    )
    aggregation_units: int = Field(ge=1, le=32, description="joins per cycle and node")
    slot_packets: int = Field(
        ge=1,
        le=65_535,
        description="buffer of one communicator and tree edge in packets of packet_flits, 65535 flits at most",
    )
    packet_flits: Literal[1, 2, 4, 8, 16, 32, 64] = Field(description="longest network packet in flits")
    long_packet_flits: Literal[1, 2, 4, 8, 16, 32, 64] | None = Field(
        None, description="longest packet of long streams and of all-to-alls in flits [default: packet_flits]"
    )
    lane_latency_cycles: int = Field(ge=1, le=1024, description="latency of a combining step in cycles")


class SharingTable(Table):
    slot_cycles: int = Field(
        ge=1, le=2**20, description="length of a time slot in cycles, for jobs that share the fabric by time slots"
    )


Share = Annotated[float, Field(ge=0, lt=1)]


class OwnFaultsTable(Table):
    """Faults of some links, different from those of all."""

    bit_error_rate: Share | None = Field(None, description="probability of a bit error")
    frames_lost: Share | None = Field(None, description="probability that a frame is lost")
    frames_duplicated: Share | None = Field(
        None, description="probability that a frame is repeated in place of the next one"
    )
    down_at_us: float | None = Field(None, ge=0, le=1e9, description="time at which the link goes down, in us")
    up_at_us: float | None = Field(None, ge=0, le=1e9, description="time at which the link comes up again, in us")
    reset_at_us: float | None = Field(
        None, ge=0, le=1e9, description="time at which the first node's end is reset alone, in us"
    )


class LinkFaultsTable(OwnFaultsTable):
    """Faults of one link."""

    nodes: Annotated[list[Node], Field(min_length=2, max_length=2)] = Field(description="the two nodes of the link")
    port: int | None = Field(
        None,
        ge=0,
        le=255,
        description="port of the first node, if several links connect the two [default: all of them]",
    )
    one_way: bool = Field(False, description="apply only to frames from the first node to the second")


class FaultsTable(Table):
    seed: int = Field(ge=0, lt=2**63, description="seed of random faults")
    bit_error_rate: Share = Field(description="probability of a bit error on every link")
    frames_lost: Share = Field(description="probability that a frame is lost, on every link")
    frames_duplicated: Share = Field(
        description="probability that a frame is repeated in place of the next one, on every link"
    )
    silence_us: float = Field(
        gt=0, le=1e6, description="time without a good frame after which a link is given up, in us"
    )
    rebuild_us: float = Field(
        ge=0, le=1e9, description="time from giving up a link until the fabric resumes with new routes, in us"
    )
    links: list[LinkFaultsTable] = Field([], description="links with different faults")


class ClusterTable(Table):
    """A cluster file, merged over its base."""

    description: str = Field("", pattern=r"^\P{C}*$", description="one line of description")
    base: str | None = Field(None, description="file that defines all values missing in this one; a relative path")
    routing: RoutingAlgorithm | None = Field(None, description="routing algorithm [default: by shape]")
    topology: TopologyTable
    clock: ClockTable
    link: LinkTable
    router: RouterTable
    host: HostTable
    collective: CollectiveTable
    sharing: SharingTable
    faults: FaultsTable


ClusterFile: TypeAlias = _ClusterFile[ClusterTable]


def _parse(values: dict[str, Any], locations: dict[KeyPath, Location], name: str) -> ClusterFile:
    return parse(ClusterTable, values, locations, name, resource(PLAIN))


def in_place(shape: str, size: list[int], planes: int, name: str) -> ClusterFile:
    """Returns the default values with a topology. Raises InputError."""
    return over_plain({"topology": {"shape": shape, "size": size, "planes": planes}}, {}, name)


def over_plain(values: dict[str, Any], locations: dict[KeyPath, Location], name: str) -> ClusterFile:
    """Merges the values of a file over the defaults. Raises InputError."""
    plain, plain_places = layers(None, resource(PLAIN))
    return _parse(over(plain, values), plain_places | locations, name)


def with_faults(file: ClusterFile, given: str) -> ClusterFile:
    """Returns the file with other values in [faults].

    They come from a file with that table alone, or from `key=value,...`, where `down=A-B@T` and `down=A-B@T:U` cut the
    links between nodes A and B at T us, until U, and `reset=A-B@T` resets their ends at node A. Raises InputError.
    """
    locations: dict[KeyPath, Location] = {}
    if Path(given).is_file():
        values, lines = toml_lines.read(Path(given))
        locations = {path: Location(Path(given), line) for path, line in lines.items()}
        for key in values:
            if key != "faults":
                raise wrong_at(
                    locations,
                    (key,),
                    f"{key!r} is not allowed in a file of faults, which has the table [faults] only",
                    given,
                )
    else:
        values = {"faults": _faults_in_place(given)}
    merged = over(file.values.model_dump(exclude_none=True), values)
    return _parse(merged, file.locations_without({"faults"}) | locations, f"--faults {given}")


def replaced(file: ClusterFile, now: ClusterTable, values: Mapping[str, Any], name: str) -> ClusterFile:
    """Returns the file with other values in some tables. Raises InputError."""
    return _parse(over(now.model_dump(exclude_none=True), dict(values)), file.locations_without(values), name)


_CUT = re.compile(r"([0-9]{1,6})-([0-9]{1,6})@([0-9.]+)(?::([0-9.]+))?")


def _faults_in_place(given: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for word in given.split(","):
        key, _, text = word.strip().partition("=")
        try:
            if key in ("down", "reset"):
                cut = _CUT.fullmatch(text)
                if not cut or (cut[4] and key == "reset"):
                    raise ValueError
                link = {"nodes": [int(cut[1]), int(cut[2])], f"{key}_at_us": float(cut[3])}
                table.setdefault("links", []).append(link | ({"up_at_us": float(cut[4])} if cut[4] else {}))
            else:
                table[key] = int(text) if key == "seed" else float(text)
        except ValueError:
            raise InputError(
                f"--faults {given}: {word!r} is neither a file nor key=number, such as bit_error_rate=1e-6, frames_lost=0.001 "
                "or down=0-1@20 or reset=0-1@20 (nodes@us)"
            ) from None
    return table


def schema() -> dict[str, Any]:
    """Returns the JSON schema of cluster files. Only the topology is required; other values have defaults in the base."""
    result = ClusterTable.model_json_schema()
    result["required"] = ["topology"]
    for name, table in result["$defs"].items():
        if name not in (TopologyTable.__name__, LinkFaultsTable.__name__):
            table.pop("required", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "title": "Thalweg cluster"}
