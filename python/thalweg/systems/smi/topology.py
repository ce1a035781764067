# SPDX-License-Identifier: Apache-2.0
"""Topology files (JSON) of SMI's reference implementation: FPGAs, their programs, and the connections of their channels.

    {"fpgas": {"node-1:acl0": "first", "node-1:acl1": "second"},
     "connections": {"node-1:acl0:ch2": "node-1:acl1:ch3"}}

Ranks are the FPGAs in alphabetical order; connections are bidirectional.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.cluster.topology import Topology
from thalweg.errors import InputError

LINKS = 4  #: channels per FPGA

_FPGA = re.compile(r"[^:\s]+:[^:\s]+")
_END = re.compile(r"([^:\s]+:[^:\s]+):[^:\s]*?([0-9]{1,6})")


@dataclass(frozen=True, eq=False)
class Fpgas:
    """Contents of a topology file; `names` and `programs` by rank."""

    names: tuple[str, ...]
    programs: tuple[str, ...]
    topology: Topology


def read(file: Path) -> Fpgas:
    """Reads a topology file. Raises InputError."""

    def wrong(what: str) -> InputError:
        return InputError(what, file)

    try:
        whole = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except OSError as error:
        raise wrong(f"cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file, error.lineno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise wrong("is not JSON") from error
    except ValueError as error:
        raise wrong(str(error)) from None
    tables = []
    for key in ("fpgas", "connections"):
        table = whole.get(key) if isinstance(whole, dict) else None
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise wrong(f"{key!r} is missing or not an object of strings; a topology needs fpgas and connections")
        tables.append(table)
    fpgas, connections = tables
    for name in fpgas:
        if not _FPGA.fullmatch(name):
            raise wrong(f"{name!r} is not an FPGA; write NODE:DEVICE, such as fpga-0001:acl0")
    names = tuple(sorted(fpgas))
    if not 2 <= len(names) <= 256:
        raise wrong(f"{len(names)} FPGAs; the number must be 2 to 256")
    ranks = {name: rank for rank, name in enumerate(names)}
    used: dict[tuple[int, int], str] = {}

    def end(text: str) -> tuple[int, int]:
        if not (found := _END.fullmatch(text)):
            raise wrong(f"{text!r} is not a channel; write NODE:DEVICE:chNUMBER, such as fpga-0001:acl0:ch0")
        name, channel = found[1], int(found[2])
        if name not in ranks:
            raise wrong(f"{text} is connected, but {name} is not among the fpgas")
        if channel >= LINKS:
            raise wrong(f"{text}: channels are ch0 to ch{LINKS - 1}")
        return ranks[name], channel

    links = []
    for one, other in connections.items():
        ends = end(one), end(other)
        if ends[0][0] == ends[1][0]:
            raise wrong(f"{one} and {other} belong to the same FPGA")
        for at, text in zip(ends, (one, other), strict=True):
            if at in used:
                raise wrong(f"{text} is connected twice, in {used[at]} and in {one}")
            used[at] = one
        links.append([*ends[0], *ends[1]])
    most = max((max(link[1], link[3]) for link in links), default=0) + 1
    table = np.array(sorted(links), np.int32).reshape(-1, 4)
    topology = Topology("edges", (len(names),), 1, len(names), most, table)
    if topology.unreachable is not None:
        a, b = topology.unreachable
        raise wrong(f"there is no path from {names[a]} to {names[b]}; connect all fpgas")
    return Fpgas(names, tuple(fpgas[name] for name in names), topology)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return made
