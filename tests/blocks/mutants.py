#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the equality test detect a bug? Each mutant is one small bug, in the RTL or in its C++ twin, inserted into a
copy of the sources; it is killed when the test of its block finds a difference. A build failure is an error, not a
kill. The mutants of a block are in its block.toml.

    tests/blocks/mutants.py [NAME...] [--seed N]
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from thalweg.launch.locks import alone
from thalweg.rtl.project import Project, Result

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
RUNS, CYCLES = 200, 10_000


@dataclass(frozen=True)
class Mutant:
    name: str
    block: str
    set: str
    file: str
    old: str  #: occurs once in the file
    new: str

    @property
    def side(self) -> str:
        """`rtl` or `sim`."""
        return self.file.split("/")[0]


def _of_blocks() -> Iterator[Mutant]:
    for path in sorted(ROOT.glob("tests/blocks/*/*/block.toml")):
        block = path.parent.relative_to(ROOT / "tests/blocks").as_posix()
        for entry in tomllib.loads(path.read_text()).get("mutants", []):
            yield Mutant(block=block, **entry)


MUTANTS = {mutant.name: mutant for mutant in _of_blocks()}


MIRRORED = ("rtl", "sim", "spec/generated", "tests/bisim", "tests/blocks", "tests/sim/network", "examples/operators")
"""The sources of the blocks' tests."""


def mirror(target: Path) -> None:
    """Copies the sources of the tests; unchanged files are not touched, so that little is rebuilt."""
    for folder in MIRRORED:
        for source in (ROOT / folder).rglob("*"):
            copy = target / source.relative_to(ROOT)
            if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)


@contextmanager
def changed(file: Path, change: Callable[[str], str]) -> Iterator[None]:
    """Applies `change` to the file, and restores it afterwards."""
    text = file.read_text()
    try:
        file.write_text(change(text))
        yield
    finally:
        file.write_text(text)


def hunt(mutant: Mutant, seed: int, replay: bool = False) -> Result:
    """Builds a copy with the mutant in it and runs its block's test; the result has no difference if the mutant
    survives."""
    original = Project(ROOT)
    copy = original.build / "mutants" / mutant.side
    with alone(copy):
        mirror(copy)
        file = copy / mutant.file
        count = file.read_text().count(mutant.old)
        if count != 1:
            raise ValueError(f"{mutant.name}: the text to replace occurs {count} times in {mutant.file}")
        project = Project(copy, copy / "build", original)
        block = project.block(mutant.block)
        parameters = next(parameters for parameters in block.sets if parameters.name == mutant.set)
        with changed(file, lambda text: text.replace(mutant.old, mutant.new)):
            project.build_tests([(block, parameters)])
            return project.run(block, parameters, RUNS, CYCLES, seed, replay)


def main() -> int:
    parser = argparse.ArgumentParser(description="Hunt mutants of the hardware and its twins.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; all where none is named")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MUTANTS]
    if unknown:
        parser.error(f"no mutant {', '.join(unknown)}; there are {', '.join(MUTANTS)}")
    print(f"seed {arguments.seed}")
    survivors = 0
    for name in arguments.names or MUTANTS:
        difference = hunt(MUTANTS[name], arguments.seed).difference
        survivors += difference is None
        print(f"{name}: {difference or 'SURVIVED'}", flush=True)
    print(f"{survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
