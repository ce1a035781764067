# SPDX-License-Identifier: Apache-2.0
"""Four boards add their vectors, called by their hosts and by their kernels."""

import numpy as np
from thalweg.accl import Function, Rank, run


def program(rank: Rank) -> tuple[float, float]:
    mine = rank.create_buffer(np.arange(1000, dtype=np.float32) + rank.rank)
    total = rank.create_buffer(1000)
    by_host = rank.allreduce(mine, total, 1000, Function.SUM)
    assert (total.array == 4 * np.arange(1000) + 6).all()
    by_kernel = rank.kernel().allreduce(mine, total, 1000, Function.SUM)
    return by_host.duration_us, by_kernel.duration_us


result = run(program, ranks=4, cluster="accl-u280-udp")
for number, (by_host, by_kernel) in enumerate(result.values):
    print(f"rank {number}: {by_host:.2f} us called by the host, {by_kernel:.2f} us by a kernel")
