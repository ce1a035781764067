# SPDX-License-Identifier: Apache-2.0
"""Is the output of `thalweg smi generate` accepted by C, C++ and Verilator? Its behaviour in hardware:
tests/export/smi."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from thalweg.cli import main
from thalweg.errors import InputError
from thalweg.rtl.tools import run_verilator
from thalweg.systems.smi import generate

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
    ROOT / "rtl/smi/lint.vlt",
    ROOT / "spec/generated/sv/tw_spec_pkg.sv",
    ROOT / "spec/generated/sv/smi/tw_smi_spec_pkg.sv",
    ROOT / "rtl/reduce/tw_reduce_pkg.sv",
    ROOT / "rtl/smi/tw_smi_pkg.sv",
]
FOLDERS = ["common", "switch", "reduce", "reduce/parts", "smi"]


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


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "circuits"),
    [("", 0), ('switching = "circuit"', 1 << 31), ('switching = "circuit"\ncircuit_packets = 15', 15)],
)
def test_the_top_fits_around_a_rank(setting: str, circuits: int, generated: Path) -> None:
    file = generated / "noctua.toml"
    file.write_text((ROOT / "clusters/smi-noctua.toml").read_text().replace("reads = 8", f"{setting}\nreads = 8"))
    (generated / "smi_app.sv").write_text(generate.generate(generated.parent / "app.json", file)["smi_app.sv"])
    text = (generated / "smi_app.sv").read_text()
    assert re.search(rf"\.Circuits +\(32'd{circuits}\)", text)
    folders = [part for name in FOLDERS for part in ("-y", ROOT / "rtl" / name)]
    top = ["--top-module", "smi_app", generated / "smi_app.sv"]
    done = run_verilator(["--lint-only", "-Wall", *SOURCES, *folders, *top])
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout


def test_the_top_says_what_endpoints_are(generated: Path) -> None:
    """Packed, the lowest first, as in docs/smi.md."""
    text = (generated / "smi_app.sv").read_text()
    values = dict(re.findall(r"\.(\w+) *\((?:\d+'h)?(\w+)\)", text[text.index("tw_node #(") :]))

    def unpacked(name: str, width: int) -> list[int]:
        return [int(values[name], 16) >> width * number & (1 << width) - 1 for number in range(6)]

    assert unpacked("Kinds", 3) == [0, 1, 2, 5, 4, 3]
    assert unpacked("Ports", 8) == [0, 0, 1, 2, 3, 4]
    assert unpacked("Buffers", 16) == [16, 16, 16, 16, 3, 16]
    assert unpacked("Sizes", 2) == [2, 2, 2, 3, 0, 1]
    assert (values["Links"], values["Reads"], values["PacketBytes"]) == ("4", "4", "32")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"operations": []}, "app: has no operations"),
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
