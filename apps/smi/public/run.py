# SPDX-License-Identifier: Apache-2.0
"""Runs the unmodified kernels of SMI's public reference implementation, and checks their results.

git clone https://github.com/spcl/SMI
python apps/smi/public/run.py SMI [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thalweg.errors import ThalwegError
from thalweg.smi import Result, Run

CLUSTER = "smi-noctua"
Array = NDArray[Any]


def microbenchmark(*files: str, kernels: tuple[str, ...] = ("app",), **arguments: Any) -> Callable[[Path], Result]:
    """Two files are for ranks 0 and 1, one file is for all eight ranks. Kernels with an argument `mem` store 1
    there."""

    def run(folder: Path) -> Result:
        of = Run(CLUSTER, ranks=2 if len(files) == 2 else 8)
        flags = []
        for number, file in enumerate(files):
            source = folder / "microbenchmarks/kernels" / file
            for name in kernels:
                known = {argument.name for argument in of.source(source).kernels[name].arguments}
                for rank in [number] if len(files) == 2 else range(8):
                    given = {key: value for key, value in arguments.items() if key in known}
                    if "mem" in known:
                        flags.append(of.buffer(rank, np.zeros(1, np.int8), 0, f"mem of {name}"))
                        given["mem"] = flags[-1]
                    of.kernel(source, name, rank, **given)
        result = of.run()
        for flag in flags:
            require(flag.array[0] == 1, f"rank {flag.rank} found wrong elements")
        return result

    return run


def gesummv(folder: Path) -> Result:
    kernels, rows, columns = folder / "examples/kernels", 256, 384
    run = Run(CLUSTER, ranks=2, includes=[folder / "examples/include"])
    random = np.random.default_rng(3)
    matrix, x = random.random((2, rows, columns), np.float32), random.random(columns, np.float32)
    factors = (1.5, 2.5)
    y = run.buffer(0, np.zeros(rows, np.float32), 3, "y")
    for rank in range(2):
        source = kernels / f"gesummv_rank{rank}.cl"
        halves = matrix[rank].reshape(rows, -1, 2, 32)
        data: dict[str, Any] = {f"data{b}": run.buffer(rank, halves[:, :, b], b, f"data{b}") for b in range(2)}
        run.kernel(source, "kernel_read_matrix_A_0", rank, N=rows, M=columns, lda=columns, **data)
        vector = run.buffer(rank, x, 2, "x")
        tiles = rows // 128
        run.kernel(source, "kernel_read_vector_x_0", rank, data=vector, N=columns, pad_size=128, repetitions=tiles)
        run.kernel(source, "kernel_read_vector_y_0", rank, data=vector, N=0, pad_size=0, repetitions=0)
        run.kernel(source, "gemv", rank, row_streamed=1, N=rows, M=columns, alpha=factors[rank], beta=0.0)
    run.kernel(kernels / "gesummv_rank0.cl", "axpy", 0, alpha=1.0, N=rows)
    run.kernel(kernels / "gesummv_rank0.cl", "kernel_write_vector_0", 0, out=y, N=rows, pad_size=128)
    result = run.run()
    wanted = sum(factors[rank] * (matrix[rank].astype(np.float64) @ x) for rank in range(2))
    require(np.allclose(y.array, wanted, rtol=1e-5, atol=0), "y is wrong")
    return result


def stencil(folder: Path) -> Result:
    side, steps, rows, columns, banks, w = 128, 3, 2, 4, 4, 4
    nx, ny = side // rows, side // columns
    values = {
        "STENCIL_SIZE_X": side,
        "STENCIL_SIZE_Y": side,
        "STENCIL_NUM_PROCS_X": rows,
        "STENCIL_NUM_PROCS_Y": columns,
    }
    with configured(folder, "stencil.h", {**values, "VECTORIZATION_WIDTH": w}) as include:
        run = Run(CLUSTER, ranks=8, includes=[include])
        source = folder / "examples/kernels/stencil_smi.cl"
        now = np.random.default_rng(1).random((side, side), np.float32)
        memory = []
        for rank in range(8):
            px, py = divmod(rank, columns)
            part = now[px * nx :, py * ny :][:nx, :ny].reshape(nx, -1, banks, w)
            memory.append([run.buffer(rank, np.stack([part[:, :, b]] * 2), b, f"bank{b}") for b in range(banks)])
            for name in run.source(source).kernels:
                arguments: dict[str, Any] = {"i_px": px, "i_py": py}
                if not name.startswith("Convert"):
                    arguments["timesteps"] = steps
                if name in ("Read", "Write"):
                    arguments |= {f"bank{b}": memory[rank][b] for b in range(banks)}
                run.kernel(source, name, rank, **arguments)
        result = run.run()
    for _ in range(steps):
        then = now.copy()
        around = ((now[2:, 1:-1] + now[1:-1, :-2]) + now[1:-1, 2:]) + now[:-2, 1:-1]
        then[1:-1, 1:-1] = np.float32(0.25) * around
        now = then
    for rank in range(8):
        px, py = divmod(rank, columns)
        found = np.stack([buffer.array[steps % 2] for buffer in memory[rank]], axis=2).reshape(nx, ny)
        require(np.array_equal(found, now[px * nx :, py * ny :][:nx, :ny]), f"points of rank {rank} are wrong")
    return result


def kmeans(folder: Path) -> Result:
    clusters, dimensions, w, iterations, points_each = 4, 32, 16, 3, 64
    with configured(
        folder, "kmeans.h", {"KMEANS_CLUSTERS": clusters, "KMEANS_DIMS": dimensions, "VECTORIZATION_WIDTH": w}
    ) as include:
        run = Run(CLUSTER, ranks=8, includes=[include])
        source = folder / "examples/kernels/kmeans_smi.cl"
        random = np.random.default_rng(5)
        middles = random.uniform(-5, 5, (clusters, dimensions))
        points = random.normal(middles[np.arange(8 * points_each) % clusters]).astype(np.float32)
        points = points.reshape(8, points_each, dimensions)
        centroids = points[0, :clusters].copy()
        written = []
        for rank in range(8):
            of: dict[str, Any] = {"num_points": points_each, "iterations": iterations}
            place: dict[str, Any] = {"smi_rank": rank, "smi_size": 8}
            first = run.buffer(rank, centroids, 0, "centroids")
            written.append(run.buffer(rank, np.zeros_like(centroids), 1, "new centroids"))
            run.kernel(source, "SendCentroids", rank, centroids_global=first, iterations=iterations, **place)
            data = run.buffer(rank, points[rank], 2, "points")
            run.kernel(source, "ComputeDistance", rank, points=data, **of, **place)
            run.kernel(source, "ComputeMeans", rank, centroids_global=written[rank], **of)
        result = run.run()
    for _ in range(iterations):
        # The kernel's distance uses only the last component of each vector.
        apart = points[:, :, None, w - 1 :: w] - centroids[:, w - 1 :: w]
        nearest = np.square(apart).sum(axis=-1).argmin(axis=-1)
        sums = np.zeros((8, clusters, dimensions), np.float32)
        for rank in range(8):
            for point, index in zip(points[rank], nearest[rank], strict=True):
                sums[rank, index] += point
        total = sums[0]
        for rank in range(1, 8):
            total = total + sums[rank]
        centroids = total / np.bincount(nearest.ravel(), minlength=clusters)[:, None].astype(np.float32)
    for rank in range(8):
        require(
            np.allclose(written[rank].array, centroids, rtol=1e-5, atol=1e-6), f"centroids of rank {rank} are wrong"
        )
    return result


class configured(tempfile.TemporaryDirectory[str]):
    """A folder with a header, configured as by the public CMake file."""

    def __init__(self, folder: Path, header: str, values: dict[str, int]) -> None:
        super().__init__()
        text = (folder / f"examples/include/{header}.in").read_text()
        of: dict[str, Any] = {**values, "DATATYPE": "float", "COMM_DATATYPE": "SMI_FLOAT", "DEVICES_PER_NODE": 2}
        for name, value in of.items():
            text = text.replace(f"${{SMI_{name}}}", str(value))
        Path(self.name, header).write_text(text)

    def __enter__(self) -> Path:  # type: ignore[override]
        return Path(self.name)


class Wrong(Exception):
    pass


def require(right: bool | np.bool_, what: str) -> None:
    if not right:
        raise Wrong(what)


PROGRAMS: dict[str, Callable[[Path], Result]] = {
    "bandwidth": microbenchmark("bandwidth_0.cl", "bandwidth_1.cl", kernels=("app", "app_1"), N=3000, dest_rank=1),
    "latency": microbenchmark("latency_0.cl", "latency_1.cl", N=20, dest_rank=1),
    "injection_rate": microbenchmark("injection_rate_0.cl", "injection_rate_1.cl", N=500, dst=1),
    "broadcast": microbenchmark("broadcast.cl", N=500, root=3),
    "reduce": microbenchmark("reduce.cl", N=500, root=3),
    "scatter": microbenchmark("scatter.cl", N=100, root=3),
    "gather": microbenchmark("gather.cl", N=100, root=3),
    "sequential_collectives": microbenchmark(
        "multi_collectives.cl", kernels=("sequential_collectives",), N=300, root=1
    ),
    "simultaneous_collectives": microbenchmark(
        "multi_collectives.cl", kernels=("simultaneous_collectives",), N=300, root=1
    ),
    "gesummv": gesummv,
    "stencil": stencil,
    "kmeans": kmeans,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, help="folder of the public implementation")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(PROGRAMS)}; all where nothing is said")
    given = parser.parse_args()
    if unknown := set(given.names) - set(PROGRAMS):
        parser.error(f"there is no program {', '.join(sorted(unknown))}")
    if not (given.clone / "examples/include").is_dir():
        parser.error(f"{given.clone} is no clone of the public implementation")
    failed = False
    for name in given.names or PROGRAMS:
        try:
            result = PROGRAMS[name](given.clone)
        except (ThalwegError, Wrong) as error:
            failed = True
            print(f"{name:25} {error}", flush=True)
            continue
        print(f"{name:25} right, {result.cycles} cycles, {result.time_us:.3f} us", flush=True)
        for warning in result.warnings:
            print(f"{'':25} warning: {warning}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
