# SPDX-License-Identifier: Apache-2.0
"""Is the package's description of itself correct?"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import thalweg

ROOT = Path(__file__).resolve().parents[2]
installed = pytest.mark.skipif(
    Path(thalweg.__file__).is_relative_to(ROOT / "python"), reason="thalweg runs from its sources, it is not installed"
)


EXTENSIONS = [
    "thalweg._core" if folder.name == "core" else f"thalweg.systems.{folder.name}._sim"
    for folder in sorted((ROOT / "python/bindings").iterdir())
    if folder.is_dir()
]


@pytest.mark.parametrize("name", EXTENSIONS)
def test_a_stub_is_that_of_the_bindings(tmp_path: Path, name: str) -> None:
    stub = tmp_path / "stub.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", name, "-o", stub], check=True)
    committed = (ROOT / "python" / name.replace(".", "/")).with_suffix(".pyi")
    assert committed.read_text() == stub.read_text(), "the stub is stale: run make stub"


@installed
def test_version() -> None:
    command = [Path(sys.executable).with_name("thalweg"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said == f"thalweg {importlib.metadata.version('thalweg')}\n"
    assert f"\nversion: {importlib.metadata.version('thalweg')}\n" in (ROOT / "CITATION.cff").read_text()


@installed
def test_data_is_installed_whole() -> None:
    data = Path(thalweg.__file__).parent / "data"
    for folder in ("clusters", "rtl", "runtime", "spec/generated/cpp", "spec/generated/sv"):
        files = {
            p.relative_to(ROOT) for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts
        }
        assert files
        for file in files:
            assert (data / file).read_bytes() == (ROOT / file).read_bytes()


def test_the_readme_names_only_files_that_are_there() -> None:
    """Every path in a code span or a link of the README exists."""
    text = (ROOT / "README.md").read_text()
    spans = [part for i, part in enumerate(text.split("`")) if i % 2]
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    paths = {p.rstrip("/") for p in spans + links if "/" in p and " " not in p and not p.startswith(("http", ".venv"))}
    assert {p for p in paths if not (ROOT / p).exists()} == set()


def test_the_picture_in_the_readme_is_the_cluster(tmp_path: Path) -> None:
    name = "mpi-fpga-torus-2x2x2"
    command = [sys.executable, "-m", "thalweg", "cluster", "draw", name, "-o", tmp_path / "drawn.svg"]
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "drawn.svg").read_text() == (ROOT / f"docs/images/{name}.svg").read_text()


@pytest.mark.sample(3)
@pytest.mark.slow
def test_a_wheel_lints_and_exports_the_hardware(tmp_path: Path) -> None:
    """With the wheel's files other than the extension modules, which are copied instead of rebuilt."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--config-settings=wheel.cmake=false", "-w", tmp_path, ROOT]
    subprocess.run([*pip, *wheel], check=True)
    environment, away = tmp_path / "environment", tmp_path / "away"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    away.mkdir()
    packages = next(environment.glob("lib/python*/site-packages"))
    subprocess.run([*pip, "install", "--no-deps", "--target", packages, *tmp_path.glob("*.whl")], check=True)
    sets = {path.relative_to(ROOT) for path in ROOT.glob("tests/blocks/*/*/block.toml")}
    data = packages / "thalweg/data"
    assert {path.relative_to(data) for path in (data / "tests").rglob("*") if path.is_file()} == sets
    for name in EXTENSIONS:
        extension = importlib.import_module(name).__file__
        assert extension
        shutil.copy(extension, packages.joinpath(*name.split(".")[:-1]))
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")

    def run(*words: str) -> str:
        return subprocess.run(
            [environment / "bin/python", "-m", "thalweg", *words],
            cwd=away,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    assert run("rtl", "lint", "skid", "relay", "windows", "tree_neighbours") == "8 module variants, no warning\n"
    run("rtl", "export", "torus:2x2", "--output", "hardware")
    assert (away / "hardware/rtl/tw_relay.sv").read_bytes() == (ROOT / "rtl/mpi_fpga/tw_relay.sv").read_bytes()
    assert {"README.md", "LICENSE", "packets.md", "registers"} <= {path.name for path in (away / "hardware").iterdir()}
    run("rtl", "export", "peach2-ring-4", "--output", "hub")
    assert (away / "hub/rtl/tw_hub.sv").read_bytes() == (ROOT / "rtl/peach2/tw_hub.sv").read_bytes()
    program = {"operations": [{"type": "push", "port": 0}, {"type": "reduce", "port": 1, "data_type": "float"}]}
    (away / "app.json").write_text(json.dumps(program))
    run("rtl", "export", "smi-noctua", "app.json", "--output", "rank")
    assert (away / "rank/rtl/tw_node.sv").read_bytes() == (ROOT / "rtl/smi/tw_node.sv").read_bytes()
    assert {path.name for path in away.iterdir()} == {"hardware", "hub", "rank", "app.json"}
