# SPDX-License-Identifier: Apache-2.0
"""Faults of each link of a cluster, per direction, from its [faults]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from thalweg.cluster.topology import Topology
from thalweg.systems.mpi_fpga.tables import FaultsTable, LinkFaultsTable

if TYPE_CHECKING:
    from thalweg.systems.mpi_fpga._sim import Recovery

faults_option = click.option(
    "--faults",
    metavar="FAULTS",
    help="Link faults: a file with [faults], or e.g. bit_error_rate=1e-6,frames_lost=0.001,down=0-1@20 "
    "(nodes@us) or reset=0-1@20 (node 0's end only).",
)
"""Decorator: adds `--faults`, passed as `faults: str | None`, for `Cluster.load`."""

RATES = ("bit_error_rate", "frames_lost", "frames_duplicated")
KEYS = (*RATES, "down_at_us", "up_at_us", "reset_at_us")


@dataclass(frozen=True)
class Wire:
    """Faults of one direction of a link; rates are probabilities per bit and per frame."""

    bit_error_rate: float = 0.0
    frames_lost: float = 0.0
    frames_duplicated: float = 0.0
    down_at_us: float | None = None
    up_at_us: float | None = None
    reset_at_us: float | None = None  #: reset of the sending end alone

    def over(self, table: LinkFaultsTable) -> Wire:
        """Returns a copy overridden by the values of the table."""
        assigned = {key: getattr(table, key) for key in KEYS}
        return replace(self, **{key: value for key, value in assigned.items() if value is not None})


class WrongLink(ValueError):
    """An error in `key` of entry `index` of `faults.links`."""

    def __init__(self, index: int, key: str, what: str) -> None:
        super().__init__(what)
        self.index = index
        self.key = key


def of_links(topology: Topology, table: FaultsTable) -> list[tuple[Wire, Wire]]:
    """Returns, for each link of the topology, the faults from its first node to its second, and back. Raises WrongLink."""
    common = Wire(*(getattr(table, key) for key in RATES))
    wires = [[common, common] for _ in topology.links]
    assigned: set[tuple[int, int, str]] = set()
    for index, entry in enumerate(table.links):
        a, b = entry.nodes
        if entry.up_at_us is not None and (entry.down_at_us is None or entry.up_at_us <= entry.down_at_us):
            raise WrongLink(index, "up_at_us", f"up_at_us is {entry.up_at_us:g}; it must be later than down_at_us")
        found = False
        for link, (node_a, port_a, node_b, port_b) in enumerate(topology.links.tolist()):
            # a link between the nodes of a ring of two, or from a node to itself, may match in both directions
            for way, (first, port, second) in enumerate(((node_a, port_a, node_b), (node_b, port_b, node_a))):
                if (first, second) != (a, b) or entry.port not in (None, port):
                    continue
                found = True
                directions = {way: entry}
                if not entry.one_way:
                    directions[1 - way] = entry.model_copy(update={"reset_at_us": None})
                for each, fault in directions.items():
                    for key in KEYS:
                        if getattr(fault, key) is None:
                            continue
                        if (link, each, key) in assigned:
                            what = f"{key} of the link from node {(a, b)[each != way]} to node {(b, a)[each != way]} is given twice"
                            raise WrongLink(index, key, f"{what}; give each fault of a link once")
                        assigned.add((link, each, key))
                    wires[link][each] = wires[link][each].over(fault)
        if not found:
            raise WrongLink(
                index,
                "nodes",
                f"no link connects node {a} to node {b}"
                + ("" if entry.port is None else f" by port {entry.port} of node {a}"),
            )
    return [(forth, back) for forth, back in wires]


def recovery_rows(recoveries: Sequence[Recovery], us: float) -> list[dict[str, Any]]:
    """Returns links that were given up or have lost flits, for reports; `us` is a tick in us."""
    return [
        {
            "link": recovery.link,
            "cause": "reset" if recovery.reset else "silence",
            "silent_since_us": recovery.silent_since * us,
            "given_up_us": recovery.given_up * us,
            "resumed_us": recovery.resumed * us,
            "recovery_us": (recovery.resumed - recovery.silent_since) * us,
        }
        for recovery in recoveries
    ]


def recovery_text(row: dict[str, Any]) -> str:
    if row["cause"] == "reset":
        return (
            f"an end of {row['link']} was reset alone at {row['silent_since_us']:.3f} us, detected at {row['given_up_us']:.3f}; the "
            f"fabric resumed at {row['resumed_us']:.3f}: a recovery of {row['recovery_us']:.3f} us"
        )
    return (
        f"{row['link']} was silent from {row['silent_since_us']:.3f} us on and given up at {row['given_up_us']:.3f}; the fabric "
        f"resumed without it at {row['resumed_us']:.3f}: a recovery of {row['recovery_us']:.3f} us"
    )
