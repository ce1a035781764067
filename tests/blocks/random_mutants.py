#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the equality test detect bugs that nobody selected? Draws lines of the RTL, inserts a small fault into each
(faults.py), and runs the test of its block, in one parameter set after the other, until one shows a difference. The
collective unit, which is composed of blocks, is drawn only if it is named; its tests are random programs on a small
cluster (whole_units.py).

A mutant counts if Verilator's lint does not report it, if Verilator's output differs from the original's, and if no
proof shows that no input can distinguish the two (thalweg.rtl.equivalence): others are redrawn.

    tests/blocks/random_mutants.py [BLOCK...] [--count N] [--seed N]
"""

from __future__ import annotations

import argparse
import random
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import TimeoutExpired

import whole_units
from faults import Fault, faults
from mutants import CYCLES, ROOT, RUNS, changed, mirror
from thalweg.errors import InputError
from thalweg.rtl.equivalence import equivalent
from thalweg.rtl.ports import Module
from thalweg.rtl.project import Block, Kind, ParameterSet, Project
from thalweg.rtl.tools import BuildError
from thalweg.systems.mpi_fpga.rtl_engine import unit_library, unit_parameters

SECONDS = 600  #: of processor time for the runs in one parameter set; a mutant that takes longer hangs


#: All except the tops of exports, which have no twins, and are tested from outside.
FILES = sorted(file for file in (ROOT / "rtl").rglob("tw_*.sv") if file.parent.name != "top")


def owner(path: Path, blocks: list[Block]) -> str:
    """The block whose module the file is, or otherwise the smallest block of its folder that contains it; "" if there
    is none, as for parts of the tops of exports."""
    texts = {file.stem: re.sub("//.*", "", file.read_text()) for file in FILES}
    made_of: dict[str, set[str]] = {}
    for block in blocks:
        if block.folder == path.relative_to(ROOT).parts[1]:
            new, made_of[block.name] = {block.module}, set()
            while new:
                made_of[block.name] |= new
                named = {stem for file in new for stem in re.findall(r"\btw_\w+", texts[file])}
                new = named & texts.keys() - made_of[block.name]
    of = [name for name in made_of if path.stem in made_of[name]]
    return min(of, key=lambda name: len(made_of[name]), default="")


@dataclass(frozen=True)
class Mutant:
    block: str
    file: Path  #: from the root
    fault: Fault

    def __str__(self) -> str:
        source = (ROOT / self.file).read_text()
        old, new = (" ".join(text.split()) for text in (self.fault.old, self.fault.new))
        return f"{self.file}:{self.fault.line(source)}, {self.fault.kind}: {old or '(nothing)'} -> {new}"


@dataclass(frozen=True)
class Outcome:
    """Outcome of a mutant: refused by lint, same as the original, killed, equivalent, or survived; and what killed or
    refused it."""

    name: str
    text: str = ""

    @property
    def counts(self) -> bool:
        return self.name in ("killed", "survived")


class _Copy(Project):
    """Refuses faults that lint would report. Models change with every mutant, ports do not."""

    warnings = "-Wall"

    def __init__(self, root: Path, original: Project) -> None:
        super().__init__(root, root / "build", original)
        self._modules: dict[tuple[str, str], Module] = {}

    def module(self, block: Block, parameters: ParameterSet) -> Module:
        key = block.name, parameters.name
        if key not in self._modules:
            self._modules[key] = super().module(block, parameters)
        return self._modules[key]

    def difference(self, block: Block, parameters: ParameterSet, seed: int) -> str | None:
        result = self.run(block, parameters, RUNS, CYCLES, seed, replay=False, seconds=SECONDS)
        return str(result.difference) if result.difference else None


class _UnitCopy(_Copy):
    """A copy for the collective unit, compiled in a third of the time without optimization, as the programs are short."""

    for_models = " -O0"

    def __init__(self, root: Path, original: Project) -> None:
        super().__init__(root, original)
        self.libraries: dict[str, Path] = {}  #: of the latest model, in each parameter set

    def block(self, name: str) -> Block:
        sets = []
        for cluster in whole_units.CLUSTERS:
            config = whole_units.small_cluster(cluster).fabric_config()
            sets.append(ParameterSet(cluster, unit_parameters(config, whole_units.PAIRS)))
        return replace(super().block(name), sets=sets)

    def model(self, block: Block, parameters: ParameterSet) -> tuple[str, int]:
        small = next(each for each in super().block(block.name).sets if each.name == "small")
        if complaint := self.lint(block, small):
            raise BuildError(f"{block.name} is refused by lint", complaint)
        library = self.libraries[parameters.name] = unit_library(self, parameters.parameters)
        return (library.parent / "model/model.cc").read_text().splitlines()[0], 0

    def build_tests(self, wanted: Iterable[tuple[Block, ParameterSet]], kind: Kind = "model") -> None:
        """Done together with the model."""

    def difference(self, block: Block, parameters: ParameterSet, seed: int) -> str | None:
        return whole_units.difference(parameters.name, self.libraries[parameters.name], seed)


class Hunt:
    """A copy of the sources into which mutants are inserted, one after the other: of blocks with twins, or of the
    collective unit."""

    def __init__(self, of_unit: bool = False) -> None:
        self.original = Project(ROOT)
        self.copy = self.original.build / "mutants" / ("unit" if of_unit else "random")
        mirror(self.copy)
        self.project = (_UnitCopy if of_unit else _Copy)(self.copy, self.original)
        self.models: dict[str, list[tuple[ParameterSet, str]]] = {}

    def draw(self, blocks: list[Block], seed: int) -> Iterator[Mutant]:
        """Lines of the blocks' own files in random order, each with one of its faults."""
        lines: dict[tuple[str, Path, int], list[Fault]] = {}
        for path in FILES:
            found = faults(path)  # a package of types has none
            block = owner(path, self.original.blocks()) if found else ""
            if block in {chosen.name for chosen in blocks}:
                for fault in found:
                    place = block, path.relative_to(ROOT), fault.line(path.read_text())
                    lines.setdefault(place, []).append(fault)
        dice = random.Random(seed)
        order = sorted(lines)
        dice.shuffle(order)
        for place in order:
            yield Mutant(place[0], place[1], dice.choice(lines[place]))

    def originals(self, block: Block) -> list[tuple[ParameterSet, str]]:
        """The block's parameter sets with Verilator's output for them, the smallest first."""
        if block.name not in self.models:
            models = [(parameters, *self.project.model(block, parameters)) for parameters in block.sets]
            models.sort(key=lambda model: model[2])
            self.models[block.name] = [(parameters, made) for parameters, made, _ in models]
        return self.models[block.name]

    def outcome(self, mutant: Mutant, seed: int) -> Outcome:
        block = self.project.block(mutant.block)
        originals = self.originals(block)
        with changed(self.copy / mutant.file, mutant.fault.applied):
            different = []
            for parameters, made in originals:
                try:
                    if self.project.model(block, parameters)[0] == made:
                        continue
                except BuildError as error:
                    complaint = next((line for line in error.text.splitlines() if line.startswith("%")), error.text)
                    return Outcome("refused", complaint)
                different.append(parameters)
                self.project.build_tests([(block, parameters)])
                killed = self._killed_by(block, parameters, seed)
                if killed:
                    return Outcome("killed", f"{parameters.name}: {killed}")
            if not different:
                return Outcome("same")
            proved = all(self._is_equivalent(block, parameters) for parameters in different)
            return Outcome("equivalent" if proved else "survived")

    def _is_equivalent(self, block: Block, parameters: ParameterSet) -> bool:
        if block.whole:  # a proof of all of its blocks together is not attempted
            return False
        try:
            return equivalent(self.original, self.project, block, parameters)
        except BuildError:  # accepted by Verilator, but not by Yosys
            return False

    def _killed_by(self, block: Block, parameters: ParameterSet, seed: int) -> str | None:
        try:
            return self.project.difference(block, parameters, seed)
        except TimeoutExpired as expired:
            return f"not done after {expired.timeout:g} s of processor time"
        except BuildError as error:  # the program died
            return str(error)


def hunt(blocks: list[str], count: int, seed: int) -> dict[Mutant, Outcome]:
    """Draws mutants until `count` of them count, and prints each; returns all drawn ones."""
    known = Project(ROOT)
    chosen = [known.block(name) for name in blocks] if blocks else known.modelled_blocks()
    if len({block.whole for block in chosen}) > 1:
        raise InputError("the collective unit is no block with a twin: hunt its mutants by themselves")
    hunt = Hunt(of_unit=chosen[0].whole)
    print(f"seed {seed}", flush=True)
    outcomes: dict[Mutant, Outcome] = {}
    for mutant in hunt.draw(chosen, seed):
        if sum(outcome.counts for outcome in outcomes.values()) == count:
            break
        outcomes[mutant] = hunt.outcome(mutant, seed)
        print(f"{outcomes[mutant].name}: {mutant} [{outcomes[mutant].text}]", flush=True)
    names = Counter(outcome.name for outcome in outcomes.values())
    print(
        f"seed {seed}: {names['killed']} killed, {names['survived']} survived; besides {names['refused']} refused by lint, "
        f"{names['same']} the same as the original, {names['equivalent']} proved equivalent"
    )
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Hunt random mutants of the hardware.")
    parser.add_argument("blocks", nargs="*", metavar="BLOCK", help="all with twins where none is named")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    outcomes = hunt(arguments.blocks, arguments.count, arguments.seed)
    survivors = [mutant for mutant, outcome in outcomes.items() if outcome.name == "survived"]
    for mutant in survivors:
        print(f"survived: {mutant}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
