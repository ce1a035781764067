# SPDX-License-Identifier: Apache-2.0
"""Is an exported folder self-contained, and does it hold the cluster's tables?"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from thalweg.systems.mpi_fpga import configuration
from thalweg.systems.mpi_fpga.cluster import Cluster

ROOT = Path(__file__).parents[3]
Lint = Callable[[Path], subprocess.CompletedProcess[str]]
PRESET = "mpi-fpga-torus-2x2x2"
SMALL = """
[topology]
shape = "ring"
size = [3]
[collective]
trees = "rank"
contexts = 3
aggregation_units = 1
slot_packets = 4
"""


def thalweg(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "thalweg", *map(str, arguments)], text=True, capture_output=True, check=False
    )


def export(cluster: str | Path, folder: Path, *options: str | Path) -> tuple[Cluster, Path]:
    done = thalweg("rtl", "export", cluster, "--combine", "sum:float64", *options, "--output", folder)
    assert done.returncode == 0, done.stderr
    return Cluster.load(cluster), folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cluster, Path]:
    return export(PRESET, tmp_path_factory.mktemp("export") / "node")


@pytest.fixture(scope="module")
def indirect(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cluster, Path]:
    """A node of a fat tree, with the links of its switches."""
    return export("mpi-fpga-fattree-8", tmp_path_factory.mktemp("export") / "node")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cluster, Path]:
    folder = tmp_path_factory.mktemp("export")
    (folder / "small.toml").write_text(SMALL)
    return export(folder / "small.toml", folder / "node")


@pytest.fixture(scope="module")
def with_own_operators(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cluster, Path]:
    folder = tmp_path_factory.mktemp("export")
    (folder / "small.toml").write_text(SMALL)
    own = ("--combine", "user0:complex128", "--combine", "user1:int16", "--operators", ROOT / "examples/operators/rtl")
    return export(folder / "small.toml", folder / "node", *own)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "exported_as",
    ["small", *(pytest.param(name, marks=pytest.mark.long) for name in ("exported", "indirect", "with_own_operators"))],
)
def test_elaborates_from_its_core_file_alone(exported_as: str, request: pytest.FixtureRequest, lint: Lint) -> None:
    done = lint(request.getfixturevalue(exported_as)[1])
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout


def lint_of_wrong(folder: Path, pattern: str, wrong: str, lint: Lint) -> str:
    """The output of lint, which must fail, for a package with wrong numbers."""
    package = folder / "rtl/tw_cluster_pkg.sv"
    right = package.read_text()
    try:
        package.write_text(re.sub(pattern, wrong, right))
        done = lint(folder)
    finally:
        package.write_text(right)
    assert done.returncode != 0
    return done.stdout


@pytest.mark.long
def test_lint_sees_a_wrong_frame(small: tuple[Cluster, Path], lint: Lint) -> None:
    assert "WIDTH" in lint_of_wrong(small[1], r"(Window = )\d+", r"\g<1>1024", lint)


@pytest.mark.parametrize("exported_as", ["exported", "with_own_operators"])
def test_files_are_listed_once_and_all(exported_as: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(exported_as)[1]
    listed = (folder / "files.f").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(folder)) for path in (folder / "rtl").iterdir())
    assert not any(str(ROOT) in path.read_text() for path in (folder / "rtl").iterdir())


@pytest.mark.long
def test_lint_sees_another_element(with_own_operators: tuple[Cluster, Path], lint: Lint) -> None:
    """The package's user operators reach the lanes."""
    said = lint_of_wrong(with_own_operators[1], r"(UserBytes = ).*;", r"\g<1>{3{32'd8}};", lint)
    assert "a type of another size than UserBytes" in said


def test_tables_lead_every_packet_to_its_node(exported: tuple[Cluster, Path]) -> None:
    """Followed link by link, with entries as documented on the registers' pages."""
    cluster, folder = exported
    with (folder / "tables/links.csv").open() as file:
        ends = [[int(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    peer = {(a, port): b for a, port, b, _ in ends} | {(b, port): a for a, _, b, port in ends}
    with (folder / "tables/routes.csv").open() as file:
        entries = {(int(row["node"]), int(row["destination"])): int(row["entry"], 16) for row in csv.DictReader(file)}
    nodes = cluster.topology.nodes
    assert len(entries) == nodes * nodes
    for start in range(nodes):
        for destination in set(range(nodes)) - {start}:
            node, hops = start, 0
            while node != destination:
                entry = entries[node, destination]
                assert entry >> 31, "reachable"
                following = peer[node, entry & 0x3F]
                assert (entry >> 6 & 1) == (following == destination), "last_link"
                node, hops = following, hops + 1
                assert hops < nodes
    assert all(not entry >> 31 for (node, destination), entry in entries.items() if node == destination)


ADDRESSES = {
    "identity": 0x00,
    "shape": 0x04,
    "nodes": 0x08,
    "control": 0x0C,
    "node": 0x10,
    "links": 0x14,
    "lost": 0x1C,
    "host.sent": 0x40,
    "host.received": 0x48,
    "unit.status": 0x400,
    "unit.shape": 0x404,
    "unit.store": 0x408,
    "unit.peer": 0x410,
    "unit.tree_edge": 0x420,
    "unit.branch": 0x430,
    "unit.operation": 0x440,
    "unit.unload": 0x450,
    "unit.row": 0x500,
    "link[1].sent": 0x1040,
    "link[1].damaged": 0x1058,
    "link[1].lost": 0x1060,
    "routes.entry[2]": 0x40008,
    "relay.entry[2]": 0x80008,
}


def test_addresses_of_registers_stay(exported: tuple[Cluster, Path], tmp_path: Path) -> None:
    """A C compiler finds each register at the address that software of former exports uses."""
    checks = "\n".join(
        f'_Static_assert(__builtin_offsetof(tw_registers_t, {name}) == {address}, "{name}");'
        for name, address in ADDRESSES.items()
    )
    program = tmp_path / "addresses.c"
    program.write_text(f'#include "tw_registers.h"\n{checks}\n')
    subprocess.run(["cc", "-c", f"-I{exported[1] / 'registers'}", program, "-o", tmp_path / "addresses.o"], check=True)
    assert (exported[1] / "registers/html/index.html").is_file()


def test_missing_package_is_one_line(tmp_path: Path) -> None:
    program = "import sys; sys.modules['peakrdl_regblock'] = None; from thalweg.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "rtl", "export", "ring:3", "--output", tmp_path / "out"],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert re.fullmatch(
        r"thalweg: the Python package peakrdl_regblock is missing: .* -m pip install '.*\[export\]'\n", done.stderr
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing-like-it"], "is neither a preset"),
        (["ring:3", "--output", "{there}"], "exists already"),
        (["ring:3", "--output", "{there}/a/b"], "there is no directory"),
        (["{small}"], "port_buffer_bytes of"),
        (["{far}"], "link.latency_ns"),
        (["ring:3", "--combine", "sum:flot64"], "is not OPERATOR:TYPE"),
        (["ring:3", "--combine", "band:float64"], "band does not support float64"),
        (["ring:3", "--combine", "user0:float64"], "user0 is user-defined"),
        (["ring:3", "--operators", "{there}"], "--operators is unused"),
        (["ring:3", "--combine", "user0:int8", "--operators", "{there}"], "has no tw_user_operator.sv"),
        (["ring:3", "--combine", "user0:int8", "--operators", "{clash}"], "has the name of one"),
        (["ring:3", "--combine", "user0:int8", "--combine", "user0:int16"], "elements of one size"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/file").touch()
    base = '[topology]\nshape = "ring"\nsize = [3]\n'
    small = '[router]\nflow = "margin"\nmargin_flits = 3\n'  # 8 flits per channel, and a replay of 32
    (tmp_path / "small.toml").write_text(base + small)
    (tmp_path / "far.toml").write_text(base + "[link]\nlatency_ns = 100_000\n")
    (tmp_path / "clash").mkdir()
    for name in ("tw_user_operator", "tw_fifo"):
        (tmp_path / f"clash/{name}.sv").touch()
    names = {name: str(tmp_path / name) for name in ("there", "clash")} | {
        name: str(tmp_path / f"{name}.toml") for name in ("small", "far")
    }
    output = [] if "--output" in arguments else ["--output", str(tmp_path / "out")]
    done = thalweg("rtl", "export", *(word.format(**names) for word in arguments), *output)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1 and says in done.stderr
    assert not (tmp_path / "out").exists()


def test_packets_start_in_the_layer_of_their_route(tmp_path: Path) -> None:
    """If a ring's routes need two layers, packets of the second one start in its channel, and stay in it."""
    file = tmp_path / "ring.toml"
    file.write_text(
        'routing = "dfsssp"\n[topology]\nshape = "ring"\nsize = [5]\n[router]\nvirtual_channels = 8\nport_buffer_bytes = 8192\n'
    )
    cluster = Cluster.load(file)
    masks, entries = cluster.fabric_config().router.vc_mask[0], configuration.table(cluster).tolist()
    layers = cluster.tables.layer.tolist()
    started = {(layers[a][b], entries[a][b] >> 12 & 15) for a in range(5) for b in range(5) if a != b}
    assert {layer for layer, _ in started} == {0, 1}
    assert all(masks[layer] >> channel & 1 for layer, channel in started)
    assert all(entries[a][b] >> 7 & 1 for a in range(5) for b in range(5) if layers[a][b] == 1)
