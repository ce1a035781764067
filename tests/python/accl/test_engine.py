# SPDX-License-Identifier: Apache-2.0
"""Does the whole engine in hardware end calls with the simulator's return codes: invalid calls, calls that time out,
and calls that a reset ends?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from thalweg.accl import AcclError, Cluster, Rank
from thalweg.systems.accl import rtl_engine
from thalweg.systems.accl.launch import run_on
from thalweg.systems.accl.library import _Scenario
from thalweg.systems.accl.names import return_bits
from thalweg.systems.accl.running import Options, Result, Run
from thalweg.systems.accl.values import Request

TIME_OUT_US = 100
#: The hardware counts microseconds for all waits together, and a call takes time to pass through the engine.
LATE_US = 4.0
#: For each call, and each of its messages: the cycles of its order and report, and of the matcher.
SLOWER_US = 2.0


def of_both(program: Callable[[Rank], Any], ranks: int, **options: int) -> tuple[Result, Result]:
    """Runs the program in the simulator and in hardware."""
    cluster = Cluster.load("accl-u280-udp")
    none = dict.fromkeys((scenario.name.lower() for scenario in _Scenario), [0, 0])
    cluster = cluster.replace(node={cluster.node_names[0]: {"processor": none, "calls": rtl_engine.CALLS}})
    networks = (cluster.network(), cluster.network(hardware=range(ranks), calls=True))
    one, other = (
        run_on(Run(network, range(ranks), ranks, Options(buffer_bytes=4096, **options)), program)
        for network in networks
    )
    return one, other


def code_of(request: Request) -> tuple[str, ...]:
    try:
        request.wait()
    except AcclError as error:
        return tuple(return_bits(error.code))
    return ()


@pytest.mark.sample(6)
@pytest.mark.slow
@pytest.mark.usefixtures("few_plug_ins")
def test_return_codes() -> None:
    def program(rank: Rank) -> list[tuple[str, ...]]:
        kernel = rank.kernel()
        data, place = rank.create_buffer(np.arange(100, dtype=np.int32)), rank.create_buffer(200, np.int32)
        codes: list[tuple[str, ...]] = []

        def call(*args: Any, **more: Any) -> None:
            codes.append(code_of(kernel.call(*args, run_async=True, **more)))

        config = _Scenario.CONFIG
        for function, count in [(3, 8), (3, 8192), (4, 4096), (4, 1 << 20), (7, 0), (300, 0)]:
            call(config, function=function, count=count)
        call(_Scenario.COPY, (data, None, place), count=100, needs=(100, 0, 100), to_fpga=True)
        call(_Scenario.COMBINE, (data, data, place), count=100, function=9, needs=(100, 100, 100))
        other = 1 - rank.rank
        if rank.rank == 0:
            begun = rank.now_us
            codes.append(code_of(kernel.recv(place, 100, other, tag=1, run_async=True)))  # nobody sends it
            took = rank.now_us - begun
            assert TIME_OUT_US <= took <= TIME_OUT_US + LATE_US, took
            rank.pause(50)
            codes.append(code_of(kernel.recv(place, 50, other, tag=2, run_async=True)))  # of another length
        else:
            rank.pause(2 * TIME_OUT_US)
            codes.append(code_of(kernel.send(data, 100, other, tag=2, run_async=True)))
        for count in (0, 100):
            codes.append(code_of(kernel.allreduce(data, place, count, 0, run_async=True)))
        rank.pause(3 * TIME_OUT_US)
        codes.append(code_of(kernel.barrier(run_async=True)))
        if rank.rank == 0:  # all ranks must take part in the next one, or it times out
            codes.append(code_of(kernel.barrier(run_async=True)))
        else:
            rank.pause(TIME_OUT_US)
        rank.pause(2 * TIME_OUT_US)
        waiting = [kernel.recv(place, 100, other, tag=tag, run_async=True) for tag in (7, 8)]
        rank.pause(10)
        rank.reset()
        codes += [code_of(request) for request in waiting]
        rank.pause(100)
        codes.append(code_of(kernel.allreduce(data, place, 100, 0, run_async=True)))
        place.sync_from_device()
        assert (place.array[:100] == 2 * data.array).all()
        return codes

    one, other = of_both(program, 2, time_out_us=TIME_OUT_US)
    assert other.values == one.values
    found = {bit for codes in one.values for code in codes for bit in code}
    assert len(found) >= 6, found
