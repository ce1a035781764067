# SPDX-License-Identifier: Apache-2.0
"""FPGA resources of a board's engine and UDP stack (rtl/accl, mapped by Yosys), with and without the plug-ins that combine
and convert, beside the paper's Figure 3 and Table 1.

The paper's text gives the savings of Figure 3. Of Table 1, the difference between the designs with and without ACCL is
ACCL without plug-ins, and its network stack.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from thalweg.papers import Row
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl.cluster import Cluster

if TYPE_CHECKING:
    from thalweg.rtl.synth import Resources

CONTROL = "control_plane"  #: part of an engine that accepts calls and runs their programs, listed by its own parts
KINDS = {"lut": "LUT", "ff": "FF", "bram": "block RAM", "dsp": "DSP"}
SAME = (
    "ours is tw_accl_engine, by Yosys, before placement, with a hardware sequencer instead of the paper's processor, without DMA engines and MAC; two FIFOs take "
    "64 KByte of block RAM each. The paper's by Vivado, with blocks in HLS"
)
PLUGINS = "ours combine all types by sum, product, minimum and maximum, and convert float32 and float16, 64 bytes per cycle; their adders are of LUTs"


class Engine:
    """Resources of the parts of a board's engine, tw_accl_engine. Results are cached until the RTL changes."""

    def __init__(self) -> None:
        from thalweg.rtl.synth import Synthesizer

        self._synthesizer = Synthesizer()

    def without(self) -> dict[str, Resources]:
        """Resources without plug-ins: parts of the data path and of the control plane, and the logic between them."""
        from thalweg.rtl.project import Block, ParameterSet

        cluster = Cluster.load("accl-u280-udp").replace(node={"board": {"arithmetic": False, "compression": False}})
        engine = ParameterSet("minimal", rtl_engine.engine_parameters(cluster, cluster.board(0)))
        block = Block("accl", "accl_engine", [], ["rtl/accl/top"], [engine], whole=True, top=True)
        found: dict[str, Resources] = {}
        for inside in ("", CONTROL):
            for _, part, resources in self._synthesizer.parts(block, engine, inside):
                if part != CONTROL:
                    found[part] = found[part] + resources if part in found else resources
        return found

    def plugins(self) -> tuple[Resources, Resources]:
        """Resources of the plug-ins' block with all plug-ins, and with none."""
        block = dataclasses.replace(
            self._synthesizer.project.block("accl/plugins"), whole=True
        )  # keep its parts separate
        sets = {parameters.name: parameters for parameters in block.sets}
        return self._synthesizer.resources(block, sets["all"]), self._synthesizer.resources(block, sets["passes"])


def rows(row: Callable[..., Row]) -> Iterator[Row]:
    engine = Engine()
    parts = engine.without()
    minimal = sum(parts.values(), 0 * next(iter(parts.values())))
    for kind, unit in KINDS.items():
        yield row(f"accl.resources.udp.{kind}", "ACCL without plug-ins, and UDP", getattr(minimal, kind), unit, SAME)
    plugins, empty = engine.plugins()
    for kind, id_ in (("lut", "accl.minimal.logic"), ("dsp", "accl.minimal.dsp")):
        added = getattr(plugins, kind) - getattr(empty, kind)
        share = added / (getattr(minimal, kind) + added)
        yield row(id_, "saved without plug-ins", share, f"of the {KINDS[kind]}s", PLUGINS)
    for part, resources in {"plug-ins, all": plugins, **parts}.items():
        yield row("accl.figure3", part, resources.lut, "LUT", part=part, **dataclasses.asdict(resources))
