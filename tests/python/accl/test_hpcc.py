# SPDX-License-Identifier: Apache-2.0
"""PTRANS and LINPACK on grids of boards: are sums and factors right, do times follow from invocations, and is a wrong
kernel detected?"""

from pathlib import Path

import pytest
import thalweg
from thalweg.bench.operation import WrongRows
from thalweg.errors import InputError
from thalweg.resources import resource
from thalweg.systems.accl.cluster import Cluster

CLUSTER = "accl-u280-udp"
SOURCES = resource("runtime/accl/hpcc")


@pytest.mark.sample(4)
@pytest.mark.parametrize("ranks", [1, 9])
@pytest.mark.parametrize("name", ["ptrans", "linpack"])
def test_results_are_right(name: str, ranks: int) -> None:
    order = 96  # 2 x 2 blocks per board on 9 boards, 6 x 6 on one
    (row,) = thalweg.measure(name, CLUSTER, ranks=ranks, orders=order, block=16)
    assert row["verified"] and row["ranks"] == ranks and row["bytes"] == 4 * order**2
    operations = order**2 if name == "ptrans" else 2 / 3 * order**3
    assert row["gflop_per_s"] == pytest.approx(operations / row["time_us"] / 1e3)
    assert (row["bcast_us"] > 0) == (name == "linpack" and ranks > 1)


@pytest.mark.parametrize("cluster", ["accl-u280-rdma", "accl-u280-tcp"])
def test_transports_give_the_same_factors(cluster: str) -> None:
    here, there = (thalweg.measure("linpack", each, ranks=4, orders=128, block=16)[0] for each in (CLUSTER, cluster))
    assert there["verified"] and there["residual"] == here["residual"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("ranks", [4, 9])
def test_an_optical_switch_joins_the_boards_across_the_diagonal(ranks: int) -> None:
    """Without the Ethernet switch's microsecond in each direction."""
    options = {"ranks": ranks, "orders": 64 * ranks, "block": 32}
    (direct,) = thalweg.measure("ptrans", cluster="accl-u280-direct", **options)
    (switched,) = thalweg.measure("ptrans", cluster="accl-u280-udp", **options)
    assert direct["verified"]
    assert 0.8 < switched["time_us"] - direct["time_us"] < 1.2


def test_linpack_needs_more_than_pairs() -> None:
    said = "linpack of 4 ranks: no light path joins node 0 to node 2: the optical switch at node 48 connects node 0 to node 1"
    with pytest.raises(InputError, match=said):
        thalweg.measure("linpack", cluster="accl-u280-direct", orders=64, block=32)


def test_a_host_takes_its_invocations() -> None:
    """Two kernels and a call of the engine in sequence; their execution is short compared with an invocation."""
    kernel, host = (
        thalweg.measure("ptrans", CLUSTER, ranks=4, orders=32, block=16, by=by)[0] for by in ("kernel", "host")
    )
    invocation_us = Cluster.load(CLUSTER).board(0).invocation_us
    assert 3 * invocation_us <= host["time_us"] <= 3 * invocation_us + kernel["time_us"]


@pytest.mark.parametrize(("ranks", "orders"), [(1, [32, 64]), (4, [64, 128]), (0, [192, 384])])
def test_default_orders_go_with_the_grid(ranks: int, orders: list[int]) -> None:
    """0: the largest grid of 48 boards, 6 x 6."""
    rows = thalweg.measure("ptrans", CLUSTER, ranks=ranks, block=16)
    assert [(row["order"], row["verified"]) for row in rows] == [(order, True) for order in orders]


@pytest.mark.long
def test_ptrans_reaches_the_line() -> None:
    """A board's off-diagonal part crosses the line; the first block, which is read before any is sent, is 1 % of it."""
    (row,) = thalweg.measure("ptrans", CLUSTER, ranks=4, orders=2048, block=256)
    assert row["verified"] and row["share"] > 0.85


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        pytest.param(
            "ptrans",
            "tile[(block - 1) % 2][first + i][line]",
            "tile[(block - 1) % 2][line][first + i]",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "linpack",
            "store(block, true, {0, 0, 1}, left_block)",
            "store(block, false, {0, 0, 1}, left_block)",
            marks=pytest.mark.long,
        ),
        ("linpack", "block[y][x] += sum", "block[y][x] -= sum"),
    ],
)
def test_a_wrong_kernel_is_found(name: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = (SOURCES / f"{name}.cpp").read_text()
    assert text.count(right) == 1
    source = tmp_path / f"{name}.cpp"
    source.write_text(text.replace(right, wrong))
    with pytest.raises(WrongRows, match=f"{name} returned wrong results"):
        thalweg.measure(name, CLUSTER, ranks=4, orders=64, block=16, kernels=source)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranks": 3}, "ranks is 3; must be a square number, at most"),
        ({"ranks": 64}, "ranks is 64; must be a square number, at most 48 on"),
        ({"orders": 100}, "orders has 100; must be a positive multiple of 2 x 64 rows"),
        ({"orders": 0}, "orders has 0; must be a positive multiple"),
        ({"orders": 1.5}, r"orders of ptrans is 1.5; its type is str \| int \| Sequence"),
        ({"block": 24}, "block is 24; must be a multiple of 16"),
        ({"cluster": "noctua2-mpi"}, "ptrans needs boards with an engine"),
        ({"kernels": SOURCES / "linpack.cpp"}, "has no kernel transpose_read0"),
        ({"defines": ["BLOCK_SIZE=32"]}, "defines has BLOCK_SIZE; it is the number of rows of a block, block = 64"),
    ],
)
def test_what_cannot_be_is_said(options: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        thalweg.measure("ptrans", **{"cluster": CLUSTER, "orders": 128} | options)
