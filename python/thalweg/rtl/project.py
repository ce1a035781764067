# SPDX-License-Identifier: Apache-2.0
"""Builds the hardware: finds blocks, lints them, and builds and runs their equivalence tests (docs/equality.md)."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TextIO

from thalweg.errors import InputError
from thalweg.launch import processor_time
from thalweg.launch.locks import alone, own
from thalweg.resources import find_root
from thalweg.rtl.folders import folder_of, packages, rtl_folders, waivers
from thalweg.rtl.parts import Part, parameters_of, source, stand_in
from thalweg.rtl.ports import Module, header, read_module
from thalweg.rtl.tools import (
    CXX_FLAGS,
    PRELUDE,
    BuildError,
    ninja,
    run_verilator,
    verilator,
    write_edge,
    write_if_changed,
    write_rules,
)
from thalweg.rtl.waves import to_fst

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: variants of a test program: optimized, with waves, or with coverage and without assertions
Kind = Literal["model", "traced", "covered"]
KIND_FLAGS: dict[Kind, list[str]] = {
    "model": ["--assert"],
    "traced": ["--assert", "--trace-vcd"],
    "covered": ["-DSYNTHESIS", "--coverage-line", "--coverage-toggle", "--coverage-max-width", "4096"],
}
#: compiler flags. GCC ignores, and does not report, a precompiled prelude that was compiled with other macros.
KIND_MACROS: dict[Kind, str] = {
    "model": "",
    "traced": "-DVM_TRACE=1 -DVM_TRACE_VCD=1",
    "covered": "-DVM_COVERAGE=1",
}


@dataclass(frozen=True)
class ParameterSet:
    """A named set of a block's parameters, from its `block.toml`.

    Attributes
    ----------
    name : str
        Name of the set.
    parameters : dict
        Values by parameter: numbers, or SystemVerilog literals.
    silent : list of str
        Outputs that never change with these parameters.
    long : bool
        Tested only in long runs.
    clocks : dict
        Frequency of each clock in MHz, for a module with several.
    mapped : bool
        Mapped to FPGA cells by default.
    levels : int or None
        Maximum number of LUT levels after mapping.
    """

    name: str
    parameters: dict[str, int | str]  #: numbers, or SystemVerilog literals
    silent: list[str] = field(default_factory=list)  #: outputs that never change with these parameters
    long: bool = False  #: tested only in long runs
    clocks: dict[str, float] = field(default_factory=dict)  #: MHz of each clock, for a module with several
    mapped: bool = False  #: mapped to FPGA cells by default
    levels: int | None = None  #: maximum number of LUT levels after mapping


@dataclass(frozen=True)
class Block:
    """A module with its C++ model and its test: rtl/F/tw_S.sv, sim/F/S.*, tests/blocks/F/S/."""

    folder: str
    stem: str
    twin: list[str]
    rtl: list[str]  #: other folders with parts of the module
    sets: list[ParameterSet]
    whole: bool = False  #: consists of blocks, and is tested in whole clusters
    top: bool = False  #: in the folder `top` of rtl/F

    @property
    def name(self) -> str:
        """Folder and stem, such as "switch/vc_router"."""
        return f"{self.folder}/{self.stem}"

    @property
    def module(self) -> str:
        """Name of the SystemVerilog module."""
        return f"tw_{self.stem}"

    def file(self, root: Path) -> Path:
        """Returns the path of the module."""
        return root / "rtl" / self.folder / ("top" if self.top else "") / f"{self.module}.sv"


@dataclass(frozen=True)
class Port:
    """Result of a test for one output: a hash of all values compared, and their number."""

    hash: str
    activity: int


@dataclass(frozen=True)
class Difference:
    """The first difference between RTL and C++ model in a run.

    Attributes
    ----------
    seed, cycle : int
        The run, and the cycle of the difference.
    port : str
        The output; "assertion" or "exception" if one of these failed.
    expected, got : str
        Values of model and RTL; for an assertion or exception, its text.
    shrunk_cycles, shrunk_actions : int
        Length of the shrunk stimulus.
    """

    seed: int
    cycle: int
    port: str
    expected: str
    got: str
    shrunk_cycles: int
    shrunk_actions: int

    def __str__(self) -> str:
        where = f"seed {self.seed}, cycle {self.cycle}"
        if self.port in ("assertion", "exception"):
            return f"{where}: {self.got}{self.expected}"
        return f"{where}, {self.port}: the model has {self.expected}, the RTL {self.got}"


@dataclass(frozen=True)
class Result:
    """Result of the runs of one block with one parameter set."""

    block: str
    set: str
    seed: int
    runs: int
    cycles: int
    total_cycles: int
    ports: dict[str, Port]
    difference: Difference | None
    report: Path | None = None


class Project:
    """The sources under `root`, built into `build`. A copy shares the compiled Verilator runtime of its `original`."""

    warnings = "-Wno-fatal"  #: Verilator's flags; lint enables all warnings
    for_models = ""  #: additional compiler flags for Verilated libraries

    def __init__(self, root: Path | None = None, build: Path | None = None, original: Project | None = None) -> None:
        self.root = (root or find_root()).resolve()
        self.build = (build or self.root / "build/rtl").resolve()
        self.original = original or self
        self.runtime = self.original.build / "runtime"

    # --- blocks

    def blocks(self) -> list[Block]:
        """Every block that has a test, by folder and name."""
        return [self._block(path) for path in sorted((self.root / "tests/blocks").glob("*/*/block.toml"))]

    def modelled_blocks(self) -> list[Block]:
        """The blocks that are tested against a C++ model."""
        return [block for block in self.blocks() if not block.whole]

    def block(self, name: str) -> Block:
        """Returns the block named `folder/stem` or `stem`."""
        blocks = self.blocks()
        for block in blocks:
            if name in (block.name, block.stem):
                return block
        raise InputError(f"unknown block {name!r}; known are {', '.join(block.name for block in blocks)}")

    def _block(self, path: Path) -> Block:
        data = tomllib.loads(path.read_text())
        sets = [ParameterSet(**{"parameters": {}, **entry}) for entry in data["sets"]]
        return Block(
            path.parent.parent.name,
            path.parent.name,
            data.get("twin", []),
            data.get("rtl", []),
            sets,
            data.get("whole", False),
        )

    def _block_flags(self, block: Block, parameters: ParameterSet) -> list[str]:
        file = block.file(self.root)
        return [*self._flags(block.module, file, block.rtl), *_assigned(parameters.parameters)]

    def own_files(self, block: Block) -> set[Path]:
        """Returns the block's module, and the parts and packages of its folder."""
        others = {other.module for other in self.blocks() if other != block}
        return {path for path in (self.root / "rtl" / block.folder).rglob("*.sv") if path.stem not in others}

    def _flags(self, module: str, file: Path, further: Sequence[str] = ()) -> list[str]:
        folder = folder_of(self.root, file)
        return [
            *(word for part in (*rtl_folders(folder), *further) for word in ("-y", str(self.root / part))),
            *("--top-module", module),
            *(str(path) for path in waivers(self.root, folder)),
            *(str(path) for path in packages(self.root, folder)),
            str(file),
        ]

    # --- lint

    def lint(self, block: Block, parameters: ParameterSet) -> str:
        """Returns Verilator's warnings, with all enabled; empty if there are none."""
        done = run_verilator(["--lint-only", "-Wall", "--assert", *self._block_flags(block, parameters)])
        return done.stdout.strip() if done.returncode or "%Warning" in done.stdout else ""

    # --- build

    def folder(self, block: Block, parameters: ParameterSet) -> Path:
        return self.build / block.folder / block.stem / parameters.name

    def module(self, block: Block, parameters: ParameterSet) -> Module:
        """Returns the module's ports and parameters, as elaborated by Verilator."""
        return self._elaborate(self.folder(block, parameters), block.module, self._block_flags(block, parameters))

    def _elaborate(self, folder: Path, module: str, flags: Sequence[str]) -> Module:
        folder.mkdir(parents=True, exist_ok=True)
        tree, meta = folder / "tree.json", folder / "meta.json"
        outputs = ("--json-only-output", tree, "--json-only-meta-output", meta, "--Mdir", folder)
        done = run_verilator(["--json-only", "-Wno-fatal", *outputs, *flags])
        if done.returncode:
            raise BuildError(f"{module} does not elaborate", done.stdout)
        return read_module(tree, meta)

    def build_tests(self, wanted: Iterable[tuple[Block, ParameterSet]], kind: Kind = "model") -> None:
        """Builds outdated test programs. Raises BuildError if one does not compile."""
        self.original._build_runtime()
        with alone(self.build):
            ninja(self._write_tests(list(wanted), kind))

    def model(self, block: Block, parameters: ParameterSet) -> tuple[str, int]:
        """Returns the hash and the size in bytes of the Verilated model. Raises BuildError if Verilator rejects the
        module."""
        gathered = self.folder(block, parameters) / "model/model.cc"
        with alone(self.build):
            ninja(self._write_tests([(block, parameters)]), gathered)
        size = sum(path.stat().st_size for path in gathered.parent.glob("*.cpp"))
        return gathered.read_text().splitlines()[0], size

    def _write_tests(self, wanted: list[tuple[Block, ParameterSet]], kind: Kind = "model") -> Path:
        file = self.build / f"{kind}.ninja"
        with file.open("w") as out:
            write_rules(out, self.build, self._flags_of_sources())
            for twin in sorted({twin for block, _ in wanted for twin in block.twin}):
                write_edge(out, "compile", self._object(twin), self.root / "sim" / twin, FLAGS="")
            for block, parameters in wanted:
                self._write_test(out, block, parameters, kind)
        return file

    def program(self, block: Block, parameters: ParameterSet, kind: Kind = "model") -> Path:
        return self.folder(block, parameters) / kind / "bisim"

    def _object(self, twin: str) -> Path:
        return self.build / "twin" / f"{twin}.o"

    def _compiler_flags(self) -> list[str]:
        include = verilator()[1] / "include"
        return [
            *CXX_FLAGS,
            f"-I{self.root / 'tests'}",
            f"-I{self.root / 'sim'}",
            f"-I{self.root / 'rtl'}",
            f"-I{self.root / 'sim/reduce/include'}",
            f"-I{self.root / 'spec/generated/cpp'}",
            f"-isystem {include}",
            f"-isystem {include / 'vltstd'}",
        ]

    def _flags_of_sources(self) -> list[str]:
        """Flags with the prelude, which is compiled for one level of optimization: GCC has crashed on it at higher ones."""
        return [*self._compiler_flags(), f"-include {self.runtime / 'prelude.hpp'}"]

    def _write_test(self, out: TextIO, block: Block, parameters: ParameterSet, kind: Kind) -> None:
        module = self.module(block, parameters)
        folder = self.folder(block, parameters)
        ports = folder / "ports/top.hpp"
        write_if_changed(ports, header(module, parameters.clocks))
        model = folder / kind
        # registers without reset, and undefined values, start at random: see Harness::run
        options = "--cc --prefix Vtop --x-assign unique --x-initial unique -O3 --no-timing --Mdir"
        verilate = [
            *options.split(),
            f"{model}.new",
            self.warnings,
            *KIND_FLAGS[kind],
            *self._block_flags(block, parameters),
        ]
        if kind == "covered":
            others = folder / "others.vlt"  # other blocks have their own tests
            lines = [f'coverage_off -file "{path}"' for path in module.files if path not in self.own_files(block)]
            write_if_changed(others, "\n".join(["`verilator_config", *lines, ""]))
            verilate.append(str(others))
        gathered, top = model / "model.cc", model / "Vtop.h"
        flags = shlex.join(verilate).replace("$", "$$")
        write_edge(out, "verilate", f"{gathered} | {top}", *module.files, MODEL=model, FLAGS=flags)
        # Compiled as one, as reading the prelude takes as long as compiling most of them; code with coverage is large and rarely run.
        test = folder / f"{kind}.cc"
        binding = self.root / "tests/blocks" / block.folder / block.stem / "binding.cpp"
        write_if_changed(test, f'#include "{binding}"\n#include <model.cc>\n')
        flags = f"-isystem {model} -I{ports.parent} {KIND_MACROS[kind]}{' -O0' if kind == 'covered' else ''}"
        write_edge(out, "compile", model / "test.o", f"{test} | {gathered} {ports} {top}", FLAGS=flags)
        objects = [model / "test.o", *(self._object(twin) for twin in block.twin)]
        write_edge(out, "link", self.program(block, parameters, kind), *objects, f"{self.runtime}/libruntime.a")

    def build_driver(self, top: Path, driver: Path) -> Path:
        """Builds a program from a module (its model is class Vtop) and a C++ driver, in `<build>/<top's name>`."""
        self.original._build_runtime()
        folder = self.build / top.stem
        with alone(folder):
            options = "--cc --prefix Vtop -O3 --no-timing -Wno-fatal --x-assign fast --x-initial fast --Mdir"
            verilate = [*options.split(), f"{folder / 'model'}.new", *self._flags(top.stem, top)]
            gathered, program = folder / "model/model.cc", folder / "driver"
            sources = [top, *(source for part in rtl_folders("") for source in sorted((self.root / part).glob("*.sv")))]
            with (folder / "build.ninja").open("w") as out:
                write_rules(out, folder, self._compiler_flags())
                write_edge(out, "verilate", gathered, *sources, MODEL=folder / "model", FLAGS=shlex.join(verilate))
                flags = f"-isystem {folder / 'model'}"
                write_edge(out, "compile", folder / "model.o", gathered, FLAGS=f"{flags} -w")
                write_edge(out, "compile", folder / "driver.o", f"{driver} | {gathered}", FLAGS=flags)
                objects = [folder / "driver.o", folder / "model.o"]
                write_edge(out, "link", program, *objects, f"{self.runtime}/libruntime.a")
            ninja(folder / "build.ninja")
            return program

    def build_library(
        self,
        module: str,
        glue: Path,
        parameters: dict[str, int | str],
        waves: bool = False,
        parts: Sequence[str] = (),
        clocks: Mapping[str, float] = MappingProxyType({}),
    ) -> Path:
        """Builds a shared library from a module with parameters and C++ glue that uses its model (class Vtop).

        `clocks` are the MHz of each clock, for a module with several. With `waves` the model supports tracing. `parts`
        are submodules whose outputs are registers, compiled once for all instances; waves do not show their internals.
        """
        kind: Kind = "traced" if waves else "model"
        file = next(path for where in ("*", "*/top") for path in self.root.glob(f"rtl/{where}/{module}.sv"))
        beside = str(file.parent.relative_to(self.root))  # a top may be part of another
        flags = [*self._flags(module, file, [beside]), *_assigned(parameters)]
        self.original._build_runtime()
        digest = sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:16]
        folder = self.build / module / (f"{digest}.traced" if waves else digest)
        with alone(folder):
            found = self._elaborate(folder, module, flags)
            write_if_changed(folder / "ports/top.hpp", header(found, clocks))
            variants = [part for name in parts for part in self._parts(folder, name)]
            library = folder / "library.so"
            with (folder / "build.ninja").open("w") as out:
                write_rules(out, folder, self._flags_of_sources())
                model = folder / "model"
                stand_ins = [folder / f"stand_ins/{name}/{name}.sv" for name in parts]
                # before the folders with the modules themselves
                inner = [word for path in stand_ins for word in ("-y", str(path.parent))]
                flags = [*inner, *flags]
                objects = [
                    self._write_model(out, model, "top", kind, flags, [*found.files, *stand_ins]),
                    folder / "glue.o",
                ]
                include = f"-isystem {model} -I{folder / 'ports'} {KIND_MACROS[kind]}"
                write_edge(out, "compile", folder / "glue.o", f"{glue} | {model}/model.cc", FLAGS=include)
                for part in variants:
                    model, source = folder / part.name, folder / f"stand_ins/{part.ports.name}/{part.name}.cpp"
                    of_part = next(self.root.glob(f"rtl/*/{part.ports.name}.sv"))
                    flags = [*inner, *self._flags(part.ports.name, of_part), *_assigned(part.parameters)]
                    needed = [*part.ports.files, *stand_ins]
                    objects.append(self._write_model(out, model, part.name, "model", flags, needed))
                    objects.append(folder / f"{part.name}.glue.o")
                    include = f"-isystem {model} {KIND_MACROS['model']}"
                    write_edge(out, "compile", objects[-1], f"{source} | {model}/model.cc", FLAGS=include)
                write_edge(out, "share", library, *objects, f"{self.runtime}/libruntime.a")
            ninja(
                folder / "build.ninja",
                label=f"thalweg: building {module} ({folder.name}); takes minutes, needed only once",
            )
            own(library).chmod(0o700)
            return library

    def _parts(self, folder: Path, module: str) -> list[Part]:
        """Returns the variants of a module in an elaborated folder, and writes their stubs there."""
        file = next(self.root.glob(f"rtl/*/{module}.sv"))
        parts = []
        for i, parameters in enumerate(parameters_of(folder / "tree.json", module)):
            name = f"{module}_{i}"
            ports = self._elaborate(folder / name, module, [*self._flags(module, file), *_assigned(parameters)])
            parts.append(Part(name, parameters, ports))
            write_if_changed(folder / f"stand_ins/{module}/{name}.cpp", source(parts[-1]))
        if not parts:
            raise InputError(f"{module} is not instantiated, so it cannot be compiled separately")
        write_if_changed(folder / f"stand_ins/{module}/{module}.sv", stand_in(file.read_text(), parts))
        return parts

    def _write_model(
        self, out: TextIO, folder: Path, name: str, kind: Kind, flags: Sequence[str], sources: Sequence[Path]
    ) -> Path:
        """Writes the rules for class V<name>; returns its object file."""
        gathered, target = folder / "model.cc", folder.with_suffix(".o")
        options = f"--cc --prefix V{name} --x-assign unique --x-initial unique -O3 --no-timing --Mdir"
        verilate = [*options.split(), f"{folder}.new", "-Wno-fatal", *KIND_FLAGS[kind], *flags]
        write_edge(out, "verilate", gathered, *sources, MODEL=folder, FLAGS=shlex.join(verilate).replace("$", "$$"))
        compile_with = f"-isystem {folder} {KIND_MACROS[kind]} -w{self.for_models}"
        write_edge(out, "compile", target, gathered, FLAGS=compile_with)
        return target

    def _build_runtime(self) -> None:
        """Compiles the Verilator runtime, the harness with its hooks into it, and the prelude, once for all tests."""
        with alone(self.runtime):
            self._write_and_build_runtime()

    def _write_and_build_runtime(self) -> None:
        include = verilator()[1] / "include"
        harness = [self.root / f"tests/bisim/{name}.cpp" for name in ("runtime", "harness", "main")]
        hooks = harness[0].with_suffix(".hpp")
        flags = f"-w -include {hooks} -DVL_PRINTF=bisim_printf -DVL_USER_STOP -DVL_USER_FATAL"
        replaced = "-DVL_SCOPED_RAND_RESET_I=bisim_rand_reset_i -DVL_SCOPED_RAND_RESET_W=bisim_rand_reset_w"
        file = self.runtime / "build.ninja"
        with file.open("w") as out:
            write_rules(out, self.runtime, self._compiler_flags())
            sources = [
                include / f"{name}.cpp"
                for name in ("verilated", "verilated_cov", "verilated_threads", "verilated_vcd_c")
            ]
            for source in sources:
                write_edge(out, "compile", self.runtime / f"{source.stem}.o", source, FLAGS=f"{flags} {replaced}")
            for source in harness:
                write_edge(out, "compile", self.runtime / f"{source.stem}.o", source, FLAGS=flags)
            objects = [self.runtime / f"{source.stem}.o" for source in [*sources, *harness]]
            write_edge(out, "archive", self.runtime / "libruntime.a", *objects)
            prelude = self.runtime / "prelude.hpp"
            write_if_changed(prelude, PRELUDE)
            write_edge(out, "compile", f"{prelude}.gch", prelude, FLAGS="-x c++-header")
        ninja(file)

    # --- run

    def run(
        self,
        block: Block,
        parameters: ParameterSet,
        runs: int,
        cycles: int,
        seed: int,
        replay: bool = True,
        seconds: int | None = None,
    ) -> Result:
        """Runs the seeds `seed` .. `seed + runs - 1` for `cycles` cycles each, until one shows a difference.

        The test program must have been built. With `replay`, a run with a difference is repeated from its seed by a
        program with waves, which also shrinks the stimulus; the result names the folder of the report. Raises
        subprocess.TimeoutExpired if the runs take more than `seconds` of processor time.
        """
        result = self._execute("model", block, parameters, runs, cycles, seed, seconds=seconds)
        if result.difference is None or not replay:
            return result
        self.build_tests([(block, parameters)], "traced")
        report = self.folder(block, parameters) / f"seed-{result.difference.seed}"
        report.mkdir(exist_ok=True)
        again = self._execute("traced", block, parameters, 1, cycles, result.difference.seed, ["--report", report])
        for waves in report.glob("*.vcd"):
            to_fst(waves)
        difference = again.difference or result.difference
        return replace(result, difference=difference, report=report)

    def cover(self, block: Block, parameters: ParameterSet, runs: int, cycles: int, seed: int) -> Result:
        """Like `run`, with coverage; the counts are files in the folder `coverage`."""
        folder = self.folder(block, parameters) / "coverage"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return self._execute("covered", block, parameters, runs, cycles, seed, ["--coverage", folder])

    def _execute(
        self,
        kind: Kind,
        block: Block,
        parameters: ParameterSet,
        runs: int,
        cycles: int,
        seed: int,
        more: Sequence[str | Path] = (),
        seconds: int | None = None,
    ) -> Result:
        program = self.program(block, parameters, kind)
        with tempfile.TemporaryDirectory() as place:
            output = Path(place) / "result.json"
            command: list[str | Path] = [program, "--json", output]
            command += ["--runs", str(runs), "--cycles", str(cycles), "--seed", str(seed), *more]
            done = processor_time.run(command, seconds)
            if done.returncode not in (0, 1) or not output.exists():
                raise BuildError(f"{program} ended with status {done.returncode}", done.stdout)
            data: dict[str, Any] = json.loads(output.read_text())
        ports = {name: Port(**port) for name, port in data["ports"].items()}
        difference = Difference(**data["difference"]) if data["difference"] else None
        return Result(block.name, parameters.name, seed, runs, cycles, data["total_cycles"], ports, difference)


def _assigned(parameters: Mapping[str, int | str]) -> list[str]:
    return [f"-G{name}={value}" for name, value in parameters.items()]
