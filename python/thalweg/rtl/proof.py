# SPDX-License-Identifier: Apache-2.0
"""Proofs of properties of the hardware with Yosys and ABC (docs/proofs.md).

A proof is a module around a block, with assertions: tests/proofs/F/S/proof.sv, with proof.toml beside it. Yosys
compiles it to an and-inverter graph with a bad state per property. Unbounded proofs use ABC's `pdr` (property-directed
reachability), which searches an inductive invariant; bounded proofs unroll the graph with `bmc3`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from thalweg.errors import InputError
from thalweg.launch.processor_time import LIMITED
from thalweg.resources import find_root
from thalweg.rtl import netlist as rtl_netlist
from thalweg.rtl import yosys as rtl_yosys
from thalweg.rtl.netlist import Netlist, Request, fits
from thalweg.rtl.project import ParameterSet
from thalweg.rtl.tools import BuildError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TIME_LIMIT = 600  #: seconds of processor time per property
EXAMPLE_CYCLES = 300  #: maximum length of a searched example
LEMMAS = "lemmas"


@dataclass(frozen=True)
class ProofSet(ParameterSet):
    """Parameter set of a proof."""

    bounded: dict[str, int] = field(default_factory=dict)  #: patterns of properties, with the number of cycles
    refuted: list[str] = field(default_factory=list)  #: properties that must fail, to show that a bound is tight
    long: bool = False  #: takes minutes

    def bound(self, name: str) -> int | None:
        return next((cycles for pattern, cycles in self.bounded.items() if fnmatchcase(name, pattern)), None)


@dataclass(frozen=True)
class Mutant:
    """A bug in one file of the RTL that must make the properties `kills` fail in the set `set`."""

    name: str
    set: str
    kills: list[str]  #: patterns of names
    file: str
    old: str  #: text that occurs once in the file
    new: str


@dataclass(frozen=True)
class Proof:
    """The properties of one block. RTL assertions about its inputs are `assumed`."""

    folder: str
    stem: str
    sets: list[ProofSet]
    properties: dict[str, str]  #: patterns of names, with descriptions
    assumed: list[str]
    mutants: list[Mutant]
    instead: list[str] = field(default_factory=list)  #: modules that replace those of the RTL of the same name

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.stem}"


@dataclass(frozen=True)
class Result:
    """The result for one property, or for all lemmas together.

    Induction and invariants prove a property for unbounded time, bounded proofs for the first `bound` cycles. Covers,
    refuted properties and mutants have an example, which ends in `cycle`, counted from 0. `seconds` is processor time.
    """

    block: str
    set: str
    name: str  #: of the property
    method: str  #: induction, invariant, bounded or example
    bound: int | None
    cycle: int | None
    seconds: float
    outcome: str  #: proved, reached, refuted or caught; else wrong, not reached, not refuted, survived, undecided
    mutant: str | None = None

    @property
    def right(self) -> bool:
        return self.outcome in ("proved", "reached", "refuted", "caught")


@dataclass(frozen=True)
class _Answer:
    """`holds` is None after a time-out."""

    holds: bool | None
    cycle: int | None
    seconds: float


class Prover:
    """The proofs under `root`; netlists are written to `build`."""

    def __init__(self, root: Path | None = None, build: Path | None = None) -> None:
        self.root = (root or find_root()).resolve()
        self.build = (build or self.root / "build/proofs").resolve()
        self.abc = abc()

    def proofs(self) -> list[Proof]:
        """Returns every proof, by folder and name."""
        return [_read(path) for path in sorted((self.root / "tests/proofs").glob("*/*/proof.toml"))]

    def proof(self, name: str) -> Proof:
        """Returns the proof of the block named `folder/stem` or `stem`."""
        proofs = self.proofs()
        for proof in proofs:
            if name in (proof.name, proof.stem):
                return proof
        raise InputError(f"no proof of {name!r}; known are {', '.join(proof.name for proof in proofs)}")

    def prove(self, proof: Proof, parameters: ProofSet) -> list[Result]:
        """Proves each property; assertions not listed in proof.toml are lemmas, proved together.

        First tries an induction over all of them. If it fails, searches an invariant for the lemmas, and then for each
        property with their help.
        """
        netlist = self._elaborate(proof, parameters, self.build / proof.folder / proof.stem / parameters.name)
        if parameters.refuted:
            return [self._example(proof, parameters, netlist, name) for name in parameters.refuted]
        # a set may leave out properties that do not apply
        goals = {name: netlist.fitting(name) for name in proof.properties if netlist.fitting(name)}
        lemmas = [name for name in netlist.asserted if not fits(name, proof.properties)]
        asserted = {LEMMAS: lemmas, **{name: found for name, found in goals.items() if found[0] not in netlist.covered}}
        if not lemmas:
            del asserted[LEMMAS]

        def result(name: str, method: str, answer: _Answer) -> Result:
            outcome = {True: "proved", False: "wrong", None: "undecided"}[answer.holds]
            bound = parameters.bound(name)
            return Result(proof.name, parameters.name, name, method, bound, answer.cycle, answer.seconds, outcome)

        results: list[Result] = []
        if not parameters.bounded and self._holds(netlist, netlist.asserted, 1).holds:
            for name, found in asserted.items():
                answer = self._holds(netlist, found, 2, ".step")
                if not answer.holds:
                    results.clear()
                    break
                results.append(result(name, "induction", answer))
        if not results:
            graph = ""
            for name, found in asserted.items():
                bound = parameters.bound(name)
                answer = self._holds(netlist, found, bound, graph)
                results.append(result(name, "invariant" if bound is None else "bounded", answer))
                if name == LEMMAS and answer.holds and bound is None:
                    graph = ".lemmas"
        return results + [self._example(proof, parameters, netlist, name) for name in goals if name not in asserted]

    def _example(self, proof: Proof, parameters: ProofSet, netlist: Netlist, name: str) -> Result:
        """Searches a run that reaches a cover, or refutes a property."""
        answer = self._holds(netlist, _some(proof, netlist, name), EXAMPLE_CYCLES)
        found = "refuted" if name in parameters.refuted else "reached"
        outcome = {True: f"not {found}", False: found, None: "undecided"}[answer.holds]
        return Result(proof.name, parameters.name, name, "example", None, answer.cycle, answer.seconds, outcome)

    def hunt(self, proof: Proof, mutant: Mutant) -> list[Result]:
        """Checks each property that the mutant must violate; a violation detects it."""
        text = (self.root / mutant.file).read_text()
        if text.count(mutant.old) != 1:
            raise InputError(
                f"{mutant.name}: its old text occurs {text.count(mutant.old)} times in {mutant.file}; it must occur once"
            )
        parameters = next(parameters for parameters in proof.sets if parameters.name == mutant.set)
        folder = self.build / "mutants" / proof.folder / proof.stem / mutant.name
        folder.mkdir(parents=True, exist_ok=True)
        changed = folder / Path(mutant.file).name
        changed.write_text(text.replace(mutant.old, mutant.new))
        netlist = self._elaborate(proof, parameters, folder / mutant.set, changed)
        results: list[Result] = []
        for name in mutant.kills:
            answer = self._holds(netlist, _some(proof, netlist, name), EXAMPLE_CYCLES)
            outcome = {True: "survived", False: "caught", None: "undecided"}[answer.holds]
            results.append(
                Result(
                    proof.name, mutant.set, name, "example", None, answer.cycle, answer.seconds, outcome, mutant.name
                )
            )
        return results

    def _elaborate(self, proof: Proof, parameters: ProofSet, file: Path, changed: Path | None = None) -> Netlist:
        """Writes the output of `thalweg.rtl.netlist` to `file`; the module `changed` replaces the RTL's of the same name."""
        file.parent.mkdir(parents=True, exist_ok=True)
        source = self.root / "tests/proofs" / proof.folder / proof.stem / "proof.sv"
        top = [part for part in [f"rtl/{proof.folder}/top"] if (self.root / part).is_dir()]
        request = Request(
            top=f"{proof.stem}_proof",
            sources=rtl_yosys.sources(
                self.root,
                proof.folder,
                *(self.root / file for file in proof.instead),
                *([changed] if changed else []),
                source,
            ),
            folders=rtl_yosys.folders(self.root, proof.folder, [*top, "tests/proofs"]),
            parameters=parameters.parameters,
            assumed=proof.assumed,
            properties=list(proof.properties),
            output=str(file),
        )
        failure = f"the proof of {proof.name} ({parameters.name}) does not elaborate"
        rtl_yosys.start(rtl_netlist.__name__, request, failure)
        return Netlist(**json.loads(Path(f"{file}.json").read_text()))

    def _holds(self, netlist: Netlist, goals: list[str], bound: int | None, graph: str = "") -> _Answer:
        """Checks whether all `goals` hold in the graph, without bound or in the first `bound` cycles."""
        bad = netlist.bad[graph]
        wanted = [bad.index(goal) for goal in goals]
        engine = "pdr" if bound is None else f"bmc3 -F {bound}"
        cone = f"cone -N {','.join(str(number) for number in wanted)}"
        script = f"read_aiger {netlist.file}{graph}.aig; fold; {cone}; orpos; scleanup; print_stats; {engine}"
        process = subprocess.Popen(
            ["sh", "-c", LIMITED, str(TIME_LIMIT), self.abc, "-q", script],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = round(usage.ru_utime + usage.ru_stime, 2)
        if process.returncode == -signal.SIGXCPU:
            return _Answer(None, None, seconds)
        asserted = re.search(r"asserted in frame (\d+)", output)
        if asserted:
            return _Answer(False, int(asserted[1]), seconds)
        if "Property proved" in output or f"No output asserted in {bound} frames" in output:
            return _Answer(True, None, seconds)
        # a bad state that is constant 0 needs no solver
        if "All outputs solved" in output and re.search(r"lat = +0 +and = +0 ", output):
            return _Answer(True, None, seconds)
        if (
            bound is not None and "combinational networks" in output
        ):  # bmc3 needs registers; for combinational logic the first cycle is sufficient
            return self._holds(netlist, goals, None, graph)
        raise BuildError(f"cannot parse ABC's answer on {', '.join(goals)}", output)


def _some(proof: Proof, netlist: Netlist, name: str) -> list[str]:
    goals = netlist.fitting(name)
    if not goals:
        raise InputError(f"the proof of {proof.name} has no {name}")
    return goals


def abc() -> Path:
    """Returns the path of ABC in the Python package `pyosys`."""
    spec = importlib.util.find_spec("pyosys")
    if spec is None or spec.origin is None:
        raise InputError("Yosys is missing: install the Python package pyosys")
    return Path(spec.origin).parent / "yosys-abc"


def _read(path: Path) -> Proof:
    data = tomllib.loads(path.read_text())
    return Proof(
        path.parent.parent.name,
        path.parent.name,
        [ProofSet(**{"parameters": {}, **entry}) for entry in data["sets"]],
        data["properties"],
        data.get("assumed", []),
        [Mutant(**entry) for entry in data.get("mutants", [])],
        data.get("instead", []),
    )
