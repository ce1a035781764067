# SPDX-License-Identifier: Apache-2.0
"""The cluster files of MPI-FPGA: what may stand in one beside the topology, over clusters/base/plain.toml."""

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
    latency_ns: float = Field(ge=0, le=1e9, description="time from a router's output to the next one's input in ns")
    rate_gbps: float = Field(ge=0.1, le=100_000, description="payload of one direction in Gb/s")


class RouterTable(Table):
    flit_bits: Literal[256] = Field(description="bits that a port moves in a cycle")
    virtual_channels: int = Field(ge=2, le=16, description="virtual channels of every port")
    port_buffer_bytes: int = Field(
        ge=64, le=2**20, description="input buffer of a link port, shared by its virtual channels"
    )
    flow: Literal["credits", "margin"] = Field(description="how a full buffer holds its upstream back")
    margin_flits: int = Field(
        0, ge=0, le=2**24, description="free flits of a virtual channel at which upstream is stopped"
    )


class HostTable(Table):
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


class CollectiveTable(Table):
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


class SharingTable(Table):
    slot_cycles: int = Field(ge=1, le=2**20, description="cycles of a slot, where jobs share the fabric by time slots")


Share = Annotated[float, Field(ge=0, lt=1)]


class OwnFaultsTable(Table):
    """What happens on some links, where it is not what happens on all."""

    bit_error_rate: Share | None = Field(None, description="share of bits that flip")
    frames_lost: Share | None = Field(None, description="share of frames that get lost")
    frames_duplicated: Share | None = Field(
        None, description="share of frames that come again, in place of the next one"
    )
    down_at_us: float | None = Field(None, ge=0, le=1e9, description="time from which on no frame comes through, in us")
    up_at_us: float | None = Field(None, ge=0, le=1e9, description="time at which frames come through again, in us")
    reset_at_us: float | None = Field(
        None, ge=0, le=1e9, description="time at which the first node's end is reset alone, in us"
    )


class LinkFaultsTable(OwnFaultsTable):
    """What happens on one link."""

    nodes: Annotated[list[Node], Field(min_length=2, max_length=2)] = Field(description="the two that it joins")
    port: int | None = Field(
        None,
        ge=0,
        le=255,
        description="that of the first node, where several links join the two; all of them if left out",
    )
    one_way: bool = Field(False, description="only to frames from the first node to the second")


class FaultsTable(Table):
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
        ge=0, le=1e9, description="time from giving up a link until the fabric resumes with other routes, in us"
    )
    links: list[LinkFaultsTable] = Field([], description="links on which something else happens")


class ClusterTable(Table):
    """A cluster file, laid over its base."""

    description: str = Field("", pattern=r"^\P{C}*$", description="one line about the cluster")
    base: str | None = Field(None, description="file beside this one whose values hold where this one says nothing")
    routing: RoutingAlgorithm | None = Field(None, description="routing algorithm; by the shape if left out")
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
    """Plain values with a topology. Raises InputError."""
    return over_plain({"topology": {"shape": shape, "size": size, "planes": planes}}, {}, name)


def over_plain(values: dict[str, Any], locations: dict[KeyPath, Location], name: str) -> ClusterFile:
    """Plain values where a file has none. Raises InputError."""
    plain, plain_places = layers(None, resource(PLAIN))
    return _parse(over(plain, values), plain_places | locations, name)


def with_faults(file: ClusterFile, given: str) -> ClusterFile:
    """The same with other values in [faults]: those of a file with that table alone, or `key=value,...`, where
    `down=A-B@T` and `down=A-B@T:U` cut the links between nodes A and B at T microseconds, until U, and `reset=A-B@T` resets
    their ends at node A. Raises InputError.
    """
    locations: dict[KeyPath, Location] = {}
    if Path(given).is_file():
        values, lines = toml_lines.read(Path(given))
        locations = {path: Location(Path(given), line) for path, line in lines.items()}
        for key in values:
            if key != "faults":
                raise wrong_at(
                    locations, (key,), f"{key!r} is not for a file of faults; it has the table [faults] alone", given
                )
    else:
        values = {"faults": _faults_in_place(given)}
    merged = over(file.values.model_dump(exclude_none=True), values)
    return _parse(merged, file.locations_without({"faults"}) | locations, f"--faults {given}")


def replaced(file: ClusterFile, now: ClusterTable, values: Mapping[str, Any], name: str) -> ClusterFile:
    """The same file with other values in some tables. Raises InputError."""
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
                "or down=0-1@20 or reset=0-1@20 (nodes, and microseconds)"
            ) from None
    return table


def schema() -> dict[str, Any]:
    """The JSON schema of a cluster file. Only the topology is required: all else has a value in the base."""
    result = ClusterTable.model_json_schema()
    result["required"] = ["topology"]
    for name, table in result["$defs"].items():
        if name not in (TopologyTable.__name__, LinkFaultsTable.__name__):
            table.pop("required", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **result, "title": "Thalweg cluster"}
