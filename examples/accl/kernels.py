# SPDX-License-Identifier: Apache-2.0
"""Kernels of two boards exchange numbers through their engines."""

from pathlib import Path

import numpy as np
from thalweg.accl import Kernels, Rank, run

kernels = Kernels(Path(__file__).with_name("increment.cpp"))


def program(rank: Rank) -> list[tuple[int, int]]:
    port = rank.kernel_port(stream=9)
    engine = {"communicator": rank.world.address, "arithmetic": rank.arithmetic(np.int32)}
    streams = {"commands": port.commands, "status": port.status, "data": port.data_in}
    cycles = []
    for words in (1, 64, 4096):
        mine = rank.create_buffer(np.arange(16 * words, dtype=np.int32) + rank.rank)
        got = rank.create_buffer(16 * words, np.int32)
        increment = rank.start(kernels, "increment", {"to": got, "words": words, "data": port.data_out})
        send = rank.start(kernels, "send", {"from": mine, "words": words, "rank": 1 - rank.rank} | engine | streams)
        send.wait()
        increment.wait()
        assert (got.array == np.arange(16 * words) + (1 - rank.rank) + 1).all()
        cycles.append((words, increment.cycles))
    return cycles


for words, cycles in run(program, ranks=2, buffer_bytes=4096).values[0]:
    print(f"{words:4} words of 64 bytes: {cycles} cycles")
