# SPDX-License-Identifier: Apache-2.0
"""Is an exported rank self-contained, and does it work for a user with the folder alone?"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thalweg import cli
from thalweg.systems.smi import metadata
from thalweg.systems.smi.cluster import Cluster
from thalweg.systems.smi.export import export

ROOT = Path(__file__).parents[3]
PAIR = 'shape = "edges"\nedges = [[0, 1]]\nnode = "board"\nlink = "qsfp"\n'
RING = 'shape = "ring"\nsize = [4]\nnode = "board"\nlink = "qsfp"\n'
PROGRAM = [
    {"type": "push", "port": 0, "data_type": "int"},
    {"type": "pop", "port": 0, "data_type": "int", "buffer_size": 28},
    {"type": "broadcast", "port": 1, "data_type": "double"},
    {"type": "reduce", "port": 2, "data_type": "float"},
    {"type": "gather", "port": 3, "data_type": "char"},
    {"type": "scatter", "port": 4, "data_type": "short"},
    {"type": "push", "port": 7, "data_type": "double"},
]


def cluster_of(links: int, topology: str, folder: Path) -> Cluster:
    """Of boards as in smi-noctua, with `links` links, and small tiles."""
    noctua, _, _ = (ROOT / "clusters/smi-noctua.toml").read_text().partition("[topology]")
    assert noctua.count("links = 4 ") == 1
    file = folder / "cluster.toml"
    file.write_text(noctua.replace("links = 4 ", f"links = {links}\ntile = 8 ") + "[topology]\n" + topology)
    return Cluster.load(file)


def program_of(operations: list[dict[str, Any]]) -> metadata.Program:
    return metadata.of_values({"operations": operations}, "app")


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("links", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_stands_by_itself(
    links: int, seed: int, lint: Callable[[Path], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Endpoints of all kinds and types, at any port, and one alone."""
    random.seed(seed + links)
    kinds = ["push", "pop", "broadcast", "scatter", "gather", "reduce"]
    types = list(metadata.BYTES)
    ports = random.sample(range(256), 30)
    all_of_them = [
        {"type": kind, "port": port, "data_type": of, "buffer_size": random.choice((None, random.randint(1, 200)))}
        for port, (kind, of) in zip(ports, ((kind, of) for kind in kinds for of in types), strict=True)
    ]
    random.shuffle(all_of_them)
    some = {1: all_of_them[:1], 2: all_of_them[:7], 3: all_of_them[7:13], 4: all_of_them}[links]
    folder = tmp_path / "rank"
    export(cluster_of(links, PAIR, tmp_path), program_of(some), folder)
    done = lint(folder)
    assert done.returncode == 0 and "%Warning" not in done.stdout, done.stdout
    listed = (folder / "files.f").read_text().split()
    assert sorted(listed) == sorted(str(path.relative_to(folder)) for path in (folder / "rtl").iterdir())
    assert not any(str(ROOT).encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.long
def test_from_outside(seed: int, simulate: Callable[..., int], tmp_path: Path) -> None:
    folder = tmp_path / "rank"
    export(cluster_of(2, RING, tmp_path), program_of(PROGRAM), folder)
    assert (folder / "tables/links.csv").read_text().split()[1:] == [f"{n},0,{(n + 1) % 4},1" for n in range(4)], (
        "ranks.sv joins them so"
    )
    run = simulate(
        folder,
        "ranks",
        "rank_traffic",
        seed,
        beside=["ranks.vlt", "ranks.sv"],
        build_args=["-Wno-PINMISSING", "-Wno-UNOPTFLAT", "--assert", "--hierarchical"],
    )
    assert run == 5


def test_programs_are_read_and_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same rank from metadata and from sources."""
    source = tmp_path / "app.c"
    source.write_text(
        '#include "smi.h"\n'
        "void sends(void) { SMI_Channel a = SMI_Open_send_channel(1, SMI_INT, 1, 0, SMI_COMM_WORLD); }\n"
    )
    (tmp_path / "app.json").write_text(json.dumps({"operations": [{"type": "push", "port": 0}], "max_ranks": 8}))
    for file in ("app.c", "app.json"):
        assert (
            cli.main(["rtl", "export", "smi-noctua", str(tmp_path / file), "--output", str(tmp_path / file[4:])]) == 0
        )
    assert capsys.readouterr().out.count("thalweg_rank of") == 2
    for path in (tmp_path / "json").rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "c" / path.relative_to(tmp_path / "json")).read_bytes()


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "app.json").write_text(json.dumps({"operations": []}))
    assert cli.main(["rtl", "export", "smi-noctua", str(tmp_path / "app.json"), "--output", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err == "thalweg: app: has no operations, so a rank needs no endpoints\n"
    assert not (tmp_path / "new").exists()
    assert cli.main(["rtl", "export", "smi-noctua"]) == 2
    assert capsys.readouterr().err == "thalweg: rtl export: Missing argument 'PROGRAM...'\n"
