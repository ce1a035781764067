# SPDX-License-Identifier: Apache-2.0
"""Every operator on every type that the network supports, written to FOLDER/RANK.npz: reductions.py FOLDER COUNT SEED.

The operands include difficult values: signed zeros, infinities, NaN, subnormals, the smallest and the largest integers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from thalweg.spec import MPI_OPERATORS, MPI_TYPES, Datatype
from thalweg.systems.mpi_fpga.reduction import DTYPES


def numbers(dtype: np.dtype[Any], shape: tuple[int, int], random: np.random.Generator) -> NDArray[Any]:
    if dtype.names:
        values = np.zeros(shape, dtype)
        for name in dtype.names:
            values[name] = numbers(dtype[name], shape, random)
        values["index"] = random.integers(0, 3, shape)
        return values
    if dtype.kind == "c":
        real = np.dtype(f"f{dtype.itemsize // 2}")
        return numbers(real, (shape[0], 2 * shape[1]), random).view(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, info.tiny, -info.smallest_subnormal, info.max, 1.0]
        values = (random.standard_normal(shape) * 2.0 ** random.integers(-6, 6, shape)).astype(dtype)
        return np.where(random.random(shape) < 0.2, random.choice(np.array(special, dtype), shape), values)
    info = np.iinfo(dtype)
    values = np.frombuffer(random.bytes(shape[0] * shape[1] * dtype.itemsize), dtype).reshape(shape)
    return np.where(
        random.random(shape) < 0.3, random.choice(np.array([0, 1, info.min, info.max], dtype), shape), values
    )


def operands(datatype: Datatype, truth: bool, ranks: int, count: int, seed: int) -> NDArray[Any]:
    """(ranks, count) elements; `truth`: of a boolean type."""
    random = np.random.default_rng([seed, int(datatype)])
    values = numbers(DTYPES[datatype], (ranks, count), random)
    return (values % 3 == 0).astype(values.dtype) if truth else values


def handle(name: str) -> MPI.Datatype:
    """mpi4py's handle of an MPI type; DATATYPE_NULL if there is none."""
    spelled = {
        "MPIX_C_FLOAT16": "FLOAT16_T",
        "MPI_2INT": "TWOINT",
        "MPI_2INTEGER": "TWOINTEGER",
        "MPI_2REAL": "TWOREAL",
        "MPI_2DOUBLE_PRECISION": "TWODOUBLE_PRECISION",
    }
    return getattr(MPI, spelled.get(name, name.removeprefix("MPI_")), MPI.DATATYPE_NULL)


def cases() -> list[tuple[str, str]]:
    """(MPI type, MPI operator) of all types that this MPI supports."""
    return [
        (name, op)
        for name, kind in MPI_TYPES.items()
        for op in MPI_OPERATORS
        if MPI_OPERATORS[op] in kind.operators and handle(name) != MPI.DATATYPE_NULL
    ]


def is_truth(name: str) -> bool:
    return "BOOL" in name or "LOGICAL" in name


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    results = {}
    for name, op in cases():
        mine = operands(MPI_TYPES[name].datatype, is_truth(name), ranks, count, seed)[rank].copy()
        everywhere, at_root = np.zeros_like(mine), np.zeros_like(mine)
        operator = getattr(MPI, op.removeprefix("MPI_"))
        world.Allreduce([mine, count, handle(name)], [everywhere, count, handle(name)], operator)
        world.Reduce([mine, count, handle(name)], [at_root, count, handle(name)], operator, root=ranks - 1)
        results[f"{name} {op} allreduce"] = everywhere
        if rank == ranks - 1:
            results[f"{name} {op} reduce"] = at_root
    np.savez(folder / f"{rank}.npz", **results)


if __name__ == "__main__":
    main()
