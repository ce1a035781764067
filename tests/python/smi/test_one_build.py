# SPDX-License-Identifier: Apache-2.0
"""Does one build of a program serve all clusters? Topology and rank are in tables and arguments alone: the simulator,
the library of kernels, and the code generated for the hardware are not rebuilt."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from thalweg.systems.smi import _sim, generate
from thalweg.systems.smi.cosim import random_edges
from thalweg.systems.smi.extract import extract
from thalweg.systems.smi.run import Run

sys.path.insert(0, str(Path(__file__).parent))
from random_programs import CLUSTER

pytest.importorskip("clang.cindex", reason="libclang is not installed")
pytestmark = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")

PROGRAM = """#include <smi.h>
__kernel void app(const int N, __global int* out, SMI_Comm comm) {
  const int own = SMI_Comm_rank(comm), size = SMI_Comm_size(comm);
  SMI_Channel to = SMI_Open_send_channel(N, SMI_INT, (own + 1) % size, 0, comm);
  SMI_Channel from = SMI_Open_receive_channel(N, SMI_INT, (own + size - 1) % size, 0, comm);
  SMI_RChannel sum = SMI_Open_reduce_channel(1, SMI_INT, SMI_ADD, 1, size - 1, comm);
  SMI_BChannel all = SMI_Open_bcast_channel(1, SMI_INT, 2, size - 1, comm);
  int got = 0, total = 0;
  for (int i = 0; i < N; ++i) {
    int data = own * N + i;
    SMI_Push(&to, &data);
  }
  for (int i = 0; i < N; ++i) {
    int data;
    SMI_Pop(&from, &data);
    got += data;
  }
  SMI_Reduce(&sum, &got, &total);
  SMI_Bcast(&all, &total);
  out[0] = got;
  out[1] = total;
}
"""
TORI = [(2, 2), (2, 3), (2, 4), (3, 3), (4, 4), (5, 3), (4, 8), (7, 6), (8, 8)]


def clusters(folder: Path) -> list[Path]:
    """Rings of 2 to 8, tori of 2 x 2 to 8 x 8, random graphs; of boards with four links."""
    shapes = [("ring", f"size = [{ranks}]") for ranks in range(2, 9)]
    shapes += [("torus", f"size = {list(size)}") for size in TORI]
    for seed in range(5):
        draw = random.Random(seed)
        shapes.append(("edges", f"edges = {[list(edge) for edge in random_edges(draw, draw.randint(2, 16), 4)]}"))
    files = []
    values = {"links": 4, "packet_bytes": 32, "reads": 8, "depth": 16, "link_buffer": 64, "latency": 8, "tile": 32}
    values |= {"protocol": "eager", "arity": 4, "any_order": "false", "gbit_s": 40, "latency_ns": 40}
    for number, (shape, size) in enumerate(shapes):
        files.append(folder / f"{number}-{shape}.toml")
        files[-1].write_text(CLUSTER.format(shape=shape, size=size, **values))
    return files


def digest(file: str | Path) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@pytest.mark.sample(2)
@pytest.mark.slow
def test_one_build_runs_on_all_clusters(tmp_path: Path) -> None:
    source, count = tmp_path / "app.cl", 7
    source.write_text(PROGRAM)
    builds = set()
    for file in clusters(tmp_path):
        run = Run(file)
        assert run.ranks is not None
        outs = [run.buffer(rank, np.zeros(2, np.int32)) for rank in range(run.ranks)]
        for rank, out in enumerate(outs):
            run.kernel(source, "app", rank, N=count, out=out)
        run.run()
        parts = np.arange(run.ranks * count).reshape(run.ranks, count).sum(axis=1)
        assert [out.array.tolist() for out in outs] == [[part, parts.sum()] for part in np.roll(parts, 1)], file.name
        builds.add((digest(run.source(source).library), digest(str(_sim.__file__))))
    assert len(builds) == 1


def test_what_is_generated_is_that_of_any_topology(tmp_path: Path) -> None:
    source, metadata = tmp_path / "app.cl", tmp_path / "app.json"
    source.write_text(PROGRAM)
    metadata.write_text(json.dumps(extract(source)))
    files = clusters(tmp_path)
    made = [generate.generate(metadata, file) for file in files]
    assert set(made[0]) == {"smi_app.json", "smi_app.h", "smi_app.sv"}
    assert all(each == made[0] for each in made)
    pair = files[0].read_text().replace("links = 4", "links = 2")
    files[0].write_text(pair)
    assert generate.generate(metadata, files[0])["smi_app.sv"] != made[0]["smi_app.sv"], (
        "boards of two links are others"
    )
