# SPDX-License-Identifier: Apache-2.0
"""What holds for every Python test: in CI none is skipped, and with --system only those of one system run."""

from __future__ import annotations

import gc
import os
import random
import re
from collections.abc import Generator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SYSTEMS = sorted(
    path.name for path in (TESTS.parent / "python/thalweg/systems").iterdir() if (path / "__init__.py").exists()
)
OF_MPI_FPGA = ("end_to_end", "python/bench", "python/reproduce", "python/run", "python/tune")
"""Folders of tests of MPI-FPGA, but for those whose names have another system."""


@pytest.fixture
def seed() -> int:
    """Of a random test: from THALWEG_SEED, or a new one each time; printed."""
    number = int(os.environ.get("THALWEG_SEED") or random.SystemRandom().randrange(2**31))
    print(f"THALWEG_SEED={number}")
    return number


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--system", choices=SYSTEMS, help="only the tests of this system")


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback of the garbage collector, by which its modules, and from there all tests with what they are parametrized by,
    would outlive the interpreter; nanobind reports such objects as leaked."""
    gc.callbacks[:] = [each for each in gc.callbacks if not getattr(each, "__module__", "").startswith("hypothesis")]


def system_of(item: pytest.Item) -> str | None:
    """Whose a test is: by its folder, or by the block or the cluster that it is of; None of those of leaves."""
    folder = item.path.parent.relative_to(TESTS).as_posix()
    if folder.startswith(OF_MPI_FPGA):
        return next((system for system in SYSTEMS if system in re.split(r"\W", item.name)), "mpi_fpga")
    words = set(re.split(r"\W", item.nodeid.replace("-", "_")))
    return next((system for system in SYSTEMS if system in words), None)


def _draw(items: list[pytest.Item], all_are_long: bool) -> None:
    """Of a test marked `sample(n)`, marks all but one in n of its cases, on average, `long` and `undrawn`: others in each run, or by
    THALWEG_SEED."""
    run = os.environ.get("THALWEG_SEED") or os.environ.get("PYTEST_XDIST_TESTRUNUID")  # the same in all processes
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if (sample := item.get_closest_marker("sample")) and not item.get_closest_marker("long"):
            cases.setdefault((item.nodeid.partition("[")[0], *sample.args), []).append(item)
    for (name, share), those in cases.items():
        draw = random.Random(f"{run} {name}")
        draw.shuffle(those)
        for item in those[0 if all_are_long else (len(those) + draw.randrange(share)) // share :]:
            item.add_marker(pytest.mark.long)
            item.add_marker(pytest.mark.undrawn)


@pytest.hookimpl(tryfirst=True)  # before tests are selected by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _draw(items, all_are_long=config.option.markexpr.startswith("long"))
    if not (system := config.getoption("--system")):
        return
    others = [item for item in items if system_of(item) != system]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if system_of(item) == system]


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI doesn't allow: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report
