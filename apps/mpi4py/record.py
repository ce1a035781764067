"""Runs tests of mpi4py's own suite on every rank and writes each rank's verdicts: record.py SUITE FOLDER MODULE ..."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any


class Verdicts(unittest.TestResult):
    """One word for each test, and the last line of what it raised."""

    def __init__(self) -> None:
        super().__init__()
        self.of: dict[str, str] = {}

    def _note(self, test: unittest.TestCase, verdict: str, error: Any = None) -> None:
        said = f": {error[0].__name__}: {error[1]}".splitlines()[0] if error else ""
        self.of[test.id()] = verdict + said

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "ok")

    def addError(self, test: Any, err: Any) -> None:
        self._note(test, "error", err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._note(test, "failure", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._note(test, f"skipped: {reason}")


def main() -> None:
    suite, folder, *modules = sys.argv[1:]
    sys.modules.update(cupy=None, numba=None)  # type: ignore[arg-type]  # as the suite does where none is asked for
    sys.path.insert(0, suite)
    from mpi4py import MPI

    verdicts = Verdicts()
    for module in modules:
        unittest.defaultTestLoader.loadTestsFromName(module).run(verdicts)
    Path(folder, f"{MPI.COMM_WORLD.Get_rank()}.json").write_text(json.dumps(verdicts.of, indent=1))


if __name__ == "__main__":
    main()
