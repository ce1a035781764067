# SPDX-License-Identifier: Apache-2.0
"""Is what `thalweg smi generate` writes accepted by C, C++ and Verilator, and do its tables get into the hardware?"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.rtl.tools import run_verilator, verilator
from thalweg.systems.smi import generate, metadata

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PROGRAM = {
    "operations": [
        {"type": "pop", "port": 0, "data_type": "int"},
        {"type": "push", "port": 0, "data_type": "int"},
        {"type": "broadcast", "port": 1, "data_type": "float"},
        {"type": "reduce", "port": 2, "data_type": "double", "args": {"op_type": "max"}},
        {"type": "gather", "port": 3, "data_type": "char", "buffer_size": 64},
        {"type": "scatter", "port": 4, "data_type": "short"},
    ],
    "consecutive_reads": 4,
    "max_ranks": 8,
}
SOURCES = [
    ROOT / "rtl/lint.vlt",
    ROOT / "spec/generated/sv/tw_spec_pkg.sv",
    ROOT / "spec/generated/sv/smi/tw_smi_spec_pkg.sv",
    ROOT / "rtl/reduce/tw_reduce_pkg.sv",
    ROOT / "rtl/smi/tw_smi_pkg.sv",
    HERE / "tw_node.sv",
]


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    (tmp_path / "app.json").write_text(json.dumps(PROGRAM))
    assert main(["smi", "generate", str(tmp_path / "app.json"), "--out", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def test_endpoints_are_numbered_by_port_and_spread_over_links(generated: Path) -> None:
    made = json.loads((generated / "smi_app.json").read_text())
    assert (made["links"], made["reads"]) == (4, 4)
    assert [(of["number"], of["link"], of["kind"], of["port"], of["buffer"]) for of in made["endpoints"]] == [
        (0, 0, "push", 0, 16),
        (1, 1, "pop", 0, 16),
        (2, 2, "broadcast", 1, 16),
        (3, 3, "reduce", 2, 16),
        (4, 0, "gather", 3, 3),
        (5, 1, "scatter", 4, 16),
    ]
    assert made["endpoints"][3]["operator"] == "max"


@pytest.mark.parametrize("compiler", [["cc", "-std=c99", "-x", "c"], ["c++", "-std=c++17", "-x", "c++"]])
def test_the_header_compiles(compiler: list[str], generated: Path) -> None:
    source = generated / "uses.c"
    source.write_text(
        '#include "smi_app.h"\n'
        "int main(void) { return smi_app_receive[1][2 * SMI_APP_PORT_GATHER_3] == 1 && SMI_APP_ENDPOINT_GATHER_3 == 4 ? 0 : 1; }\n"
    )
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    subprocess.run([*compiler, *flags, "-o", generated / "uses", source], check=True)
    assert subprocess.run([generated / "uses"], check=False).returncode == 0


@pytest.mark.parametrize("cluster", ["smi-noctua", "one link"])
def test_the_top_is_lint_clean(cluster: str, generated: Path) -> None:
    if cluster == "one link":
        file = generated / "pair.toml"
        noctua = (ROOT / "clusters/smi-noctua.toml").read_text()
        pair = noctua.replace("links = 4 ", "links = 1 ").replace('"torus"', '"edges"')
        file.write_text(pair.replace("size = [2, 4]", "edges = [[0, 1]]"))
        files = generate.generate(generated.parent / "app.json", file)
        (generated / "smi_app.sv").write_text(files["smi_app.sv"])
    top = ["--top-module", "smi_app", generated / "smi_app.sv"]
    done = run_verilator(["--lint-only", "-Wall", *SOURCES, *top])
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("setting", "circuits"),
    [("", 0), ('switching = "circuit"', 1 << 31), ('switching = "circuit"\ncircuit_packets = 15', 15)],
)
def test_the_top_fits_around_a_rank(setting: str, circuits: int, generated: Path) -> None:
    file = generated / "noctua.toml"
    file.write_text((ROOT / "clusters/smi-noctua.toml").read_text().replace("reads = 8", f"{setting}\nreads = 8"))
    (generated / "smi_app.sv").write_text(generate.generate(generated.parent / "app.json", file)["smi_app.sv"])
    assert f".Circuits(32'd{circuits})" in (generated / "smi_app.sv").read_text()
    folders = [
        part for name in ("common", "switch", "reduce", "reduce/parts", "smi") for part in ("-y", ROOT / "rtl" / name)
    ]
    top = ["--top-module", "smi_app", generated / "smi_app.sv"]
    done = run_verilator(["--lint-only", "-Wall", *SOURCES[:-1], *folders, *top])
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout


@pytest.mark.slow
def test_tables_come_through_axi4_lite_into_the_hardware(generated: Path) -> None:
    _, root = verilator()
    model = generated / "model"
    top = ["--top-module", "smi_app", generated / "smi_app.sv"]
    done = run_verilator(["--cc", "-Wno-fatal", "--Mdir", model, *SOURCES, *top])
    assert done.returncode == 0, done.stdout
    parts = [*model.glob("*.cpp"), *(root / f"include/verilated{part}.cpp" for part in ("", "_threads"))]
    includes = [f"-I{folder}" for folder in (generated, model, root / "include", root / "include/vltstd")]
    flags = ["-std=c++20", "-O0", "-w", "-pthread", *includes]
    subprocess.run(["c++", *flags, "-o", model / "Vsmi_app", HERE / "generated.cpp", *parts], check=True)
    out = subprocess.run([model / "Vsmi_app"], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in out]
    assert [row for row in rows if row[0] in ("refused", "wrong")] == [["wrong", "address", "2"]]
    tables = {tuple(map(int, row[1:4])): int(row[4]) for row in rows if row[0] == "table"}
    sent = {(0, *map(int, row[1:3])): int(row[3]) for row in rows if row[0] == "sent"}
    receive = metadata.read(generated.parent / "app.json").receive_tables(4)
    received = {(1, link, entry): int(receive[link, entry]) for link in range(4) for entry in range(512)}
    assert len(sent) == 4 * 256 and tables == sent | received
    assert [row[1:] for row in rows if row[0] == "read"] == [
        ["8000", "1", "5", "0"],
        ["8004", "1", "77", "0"],
        ["8008", "1", "4", "0"],
        ["800c", "1", "6", "0"],
        ["0", "1", "0", "2"],
    ]
    # What the top says of its endpoints: number, kind, port, buffer.
    assert [list(map(int, row[1:])) for row in rows if row[0] == "endpoint"] == [
        [0, 0, 0, 16],
        [1, 1, 0, 16],
        [2, 2, 1, 16],
        [3, 5, 2, 16],
        [4, 4, 3, 3],
        [5, 3, 4, 16],
    ]
    assert ["node", "4", "4", "32"] in rows
    assert ["element", "5"] in rows  # the stand-in's lowest byte is its rank


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"operations": []}, "app.json: has no operations"),
        ({"operations": [{"type": "shout", "port": 0}]}, r"operations\[0\].type: input should be 'push'"),
        (
            {"operations": [{"type": "push", "port": 1}, {"type": "push", "port": 1}]},
            "port 1 has two endpoints of a rank",
        ),
        ({"consecutive_reads": 0}, "consecutive_reads: input should be greater than or equal to 1"),
    ],
)
def test_wrong_metadata_is_named(change: dict[str, object], what: str, tmp_path: Path) -> None:
    (tmp_path / "app.json").write_text(json.dumps(PROGRAM | change))
    with pytest.raises(InputError, match=what):
        generate.generate(tmp_path / "app.json")


@pytest.mark.parametrize(("name", "plain"), [("a-b.c", "a_b_c"), ("1st", "_1st"), ("größe", "gr__e")])
def test_names_are_what_c_takes(name: str, plain: str) -> None:
    assert generate.identifier(name) == plain
