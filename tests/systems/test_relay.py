# SPDX-License-Identifier: Apache-2.0
"""A system in a folder of its own, in the shape of the tree: is all of it included without a change to anything else?

Its nodes have two clocks, its links are of a kind of its own, and so are an operation and random programs, which the
simulator and the hardware execute.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from programs import installed
from rows import check_schema
from thalweg.launch.locks import alone
from traces import read_trace

ROOT = Path(__file__).parents[2]
RELAY = Path(__file__).parent / "relay"
Done = subprocess.CompletedProcess[str]
Python = Callable[..., Done]
Thalweg = Callable[..., Done]

pytestmark = [pytest.mark.long, pytest.mark.undrawn]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Python:
    """The interpreter, in a copy of the sources overlaid with those of the system, which is installed."""
    build = ROOT / "build/relay"
    given = ["-G", "Ninja", "-DCMAKE_UNITY_BUILD=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    with alone(build):  # concurrent tests build it once
        for command in (["-S", str(RELAY), "-B", str(build), *given], ["--build", str(build), "--target", "_relay"]):
            done = subprocess.run(["cmake", *command], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    root = tmp_path_factory.mktemp("relay")
    for folder in ("rtl", "sim", "spec", "tests/bisim", "tests/blocks"):
        shutil.copytree(ROOT / folder, root / folder, copy_function=os.symlink)
    shutil.copytree(RELAY, root, copy_function=os.symlink, dirs_exist_ok=True)
    for extension in build.glob("_relay*.so"):
        os.symlink(extension, root / "python/relay" / extension.name)
    environment = installed(root / "python", "relay", "relay:SYSTEM")

    def run(*arguments: str) -> Done:
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment)

    return run


@pytest.fixture(scope="module")
def thalweg(python: Python) -> Thalweg:
    """The command."""
    return lambda *arguments: python("-m", "thalweg", *arguments)


def test_its_clusters_are_checked_and_drawn(thalweg: Thalweg, tmp_path: Path) -> None:
    checked = thalweg("cluster", "check", "ring.toml")
    assert (checked.returncode, checked.stdout) == (0, "ring.toml: valid; ring 5, 2 clocks in ticks of 0.75 GHz\n")
    drawn = thalweg("cluster", "draw", "ring.toml", "-o", str(tmp_path / "ring.svg"))
    assert drawn.returncode == 0, drawn.stderr
    assert "node stage: relay, ports E (relay out), W (relay in)" in (tmp_path / "ring.svg").read_text()


def test_its_hardware_is_found(thalweg: Thalweg) -> None:
    """By its folders, with the parameter sets and the limit of logic levels given there."""
    linted = thalweg("rtl", "lint", "relay_node")
    assert (linted.returncode, linted.stdout) == (0, "2 module variants, no warning\n"), linted.stdout
    mapped = thalweg("rtl", "synth", "--system", "relay", "--levels")
    assert mapped.returncode == 0, mapped.stdout + mapped.stderr
    assert "relay/relay_node" in mapped.stdout


def test_its_operation_is_measured(thalweg: Thalweg, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    measured = thalweg("bench", "turn", "--cluster", "ring.toml", "--words", "6,8", "--json", str(file))
    assert measured.returncode == 0, measured.stderr
    *heading, _, first, _ = measured.stdout.splitlines()
    assert heading == ["turn on ring.toml", "times in us, until the last word is back"]
    assert first.split()[:2] == ["6", "48"] and first.split()[-1] == "yes"
    check_schema(json.loads(file.read_text())["rows"], "ring.toml", "turn")


def test_its_operation_has_a_plot_a_trace_and_a_report(thalweg: Thalweg, tmp_path: Path) -> None:
    plot, trace, page, rows = (tmp_path / name for name in ("turn.svg", "turn.pftrace", "turn.html", "rows.json"))
    files = ["--plot", str(plot), "--trace", str(trace), "--report", str(page), "--json", str(rows)]
    measured = thalweg("bench", "turn", "--cluster", "ring.toml", "--words", "2,4", *files)
    assert measured.returncode == 0, measured.stderr
    assert "<!-- words -->" in plot.read_text()
    assert "<td >32</td>" in page.read_text() and "words in the busier direction" in page.read_text()
    two, four = json.loads(rows.read_text())["rows"]
    spans, counters, _ = read_trace(trace.read_bytes())
    ends = [end - begin for _, _, name, begin, end, _ in spans if name == "word 1"]
    assert sorted(ends)[0] == pytest.approx(1000 * two["time_us"], abs=1)
    last = [end - begin for _, _, name, begin, end, _ in spans if name == "word 3"]
    assert last == [pytest.approx(1000 * four["time_us"], abs=1)]
    assert {name for name, *_ in counters} == {f"{node}.0 to {(node + 1) % 5}" for node in range(5)}


def test_python_measures_it(python: Python) -> None:
    code = "import thalweg; print(thalweg.operations('ring.toml'), thalweg.sweep('turn', ['ring.toml'], words=[2, 4]))"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "Option(name='words', type=" in done.stdout and done.stdout.count("'verified': True") == 2


def test_its_deadlock_is_reported(python: Python, tmp_path: Path) -> None:
    """On a line, whose last relay cannot forward its words: the others wait for it, each for the next one."""
    line = tmp_path / "line.toml"
    line.write_text((RELAY / "ring.toml").read_text().replace('shape = "ring"', 'shape = "line"'))
    code = f"""if True:
        from relay.cluster import Cluster, run
        from thalweg.errors import FabricStopped
        relays = Cluster.load({str(line)!r}).relays()
        for _ in range(100):
            relays.send(0, 0, 200, 0)
        try:
            run(relays)
        except FabricStopped as stopped:
            print(stopped)
            for each in stopped.blocked:
                print(each.who, "waits", each.what, each.on, each.why, each.since_us > 0)
        """
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "100 words get on no more",
        *(f"relay {n} waits to pass a word on relay {n + 1}  True" for n in range(4)),
        "relay 4 waits to pass a word on  its port E is joined to nothing True",
    ]


def exact(net: Fraction, core: Fraction, nodes: int) -> Fraction:
    """Time in seconds at which a word is back that node 0's core sends at its first edge, from the periods of the
    clocks.

    A crossing shows a word three cycles after the first edge of its reader that is later than the writer's, and a lane
    after three.
    """

    def crossed(edge: int, writer: Fraction, reader: Fraction) -> int:
        return edge * writer // reader + 1 + 3

    at = 0
    for _ in range(nodes):
        at = crossed(crossed(at, core, net) + 3, net, core)
    return (at + 1) * core


@pytest.mark.parametrize(
    ("net", "core", "ticks"),
    [
        ("274", "322.265625", 5_651_250_000_000),
        ("322.265625", "274", 5_651_250_000_000),
        ("256", "322.265625", 5_280_000_000_000),
        ("250", "150", 750_000_000),
    ],
)
def test_clocks_of_any_ratio_cross_at_exact_ticks(
    thalweg: Thalweg, net: str, core: str, ticks: int, tmp_path: Path
) -> None:
    """The frequencies of a cluster file in common ticks, of which each period is a whole number."""
    text = (RELAY / "ring.toml").read_text().replace("\nphase_ns = 1.4", "")
    file, result = tmp_path / "two-clocks.toml", tmp_path / "result.json"
    file.write_text(text.replace("= 250", f"= {net}").replace("= 150", f"= {core}"))
    checked = thalweg("cluster", "check", str(file))
    assert checked.stdout.endswith(f"2 clocks in ticks of {ticks / 1e9:g} GHz\n"), checked.stderr
    measured = thalweg("bench", "turn", "--cluster", str(file), "--words", "1", "--json", str(result))
    assert measured.returncode == 0, measured.stderr
    expected = exact(1 / (Fraction(net) * 10**6), 1 / (Fraction(core) * 10**6), 5) * ticks
    assert expected.denominator == 1
    assert json.loads(result.read_text())["rows"][0]["time_us"] * ticks / 1e6 == pytest.approx(int(expected), abs=0.01)
    compared = thalweg("rtl", "cosim", "--cluster", str(file), "--runs", "20")
    assert compared.returncode == 0, compared.stdout + compared.stderr


def test_its_hardware_is_held_against_its_simulator(thalweg: Thalweg) -> None:
    compared = thalweg("rtl", "cosim", "--cluster", "ring.toml", "--runs", "200")
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert compared.stdout.splitlines()[-1].split()[:3:2] == ["ring.toml", "200"]
