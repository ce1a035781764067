# SPDX-License-Identifier: Apache-2.0
"""Runs tests of mpi4py's own suite on every rank and writes each rank's verdicts: record.py SUITE FOLDER MODULE ...

A rank appends two lines to FOLDER/RANK for each test, [test] at its start and [test, verdict] at its end, and [] at the
very end, so the file shows where a rank has crashed.
"""

from __future__ import annotations

import json
import sys
import unittest
from functools import partial
from pathlib import Path
from typing import Any, TextIO

ERRONEOUS = {
    "testIAgree": "of an MPI without MPI_Comm_iagree mpi4py makes it an MPI_Iallreduce, which one rank calls before a "
    "barrier of the same communicator and the others behind it"
}
"""Erroneous MPI programs, which pass in some libraries."""


class Verdicts(unittest.TestResult):
    """Writes a one-word verdict for each test, with the first line of its exception."""

    def __init__(self, file: TextIO) -> None:
        super().__init__()
        self.file = file

    def write(self, *words: str) -> None:
        self.file.write(json.dumps(words) + "\n")
        self.file.flush()

    def startTest(self, test: unittest.TestCase) -> None:
        self.write(test.id())

    def _note(self, test: unittest.TestCase, verdict: str, error: Any = None) -> None:
        said = f": {error[0].__name__}: {error[1]}".splitlines()[0] if error else ""
        self.write(test.id(), verdict + said)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "ok")

    def addError(self, test: Any, err: Any) -> None:
        self._note(test, "error", err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._note(test, "failure", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._note(test, f"skipped: {reason}")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err:
            self._note(test, "failure", err)


def skip_erroneous(tests: unittest.TestSuite) -> unittest.TestSuite:
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            skip_erroneous(test)
        elif (name := test.id().split(".")[-1]) in ERRONEOUS:
            setattr(test, name, partial(test.skipTest, ERRONEOUS[name]))
    return tests


def main() -> None:
    suite, folder, *modules = sys.argv[1:]
    sys.modules.update(cupy=None, numba=None)  # type: ignore[arg-type]  # the suite's default
    sys.path.insert(0, suite)
    from mpi4py import MPI

    with Path(folder, str(MPI.COMM_WORLD.Get_rank())).open("a") as file:
        verdicts = Verdicts(file)
        for module in modules:
            skip_erroneous(unittest.defaultTestLoader.loadTestsFromName(module)).run(verdicts)
        verdicts.write()


if __name__ == "__main__":
    main()
