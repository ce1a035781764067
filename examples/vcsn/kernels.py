# SPDX-License-Identifier: Apache-2.0
"""User logic at both ends of a circuit: node 13 sends rows of a matrix, and node 14 returns the sum of squares of
each."""

from pathlib import Path

import numpy as np
from thalweg.vcsn import Circuits, Cluster, Kernel, Receive, Send, run

ROWS, COLUMNS = 64, 512

cluster = Cluster.load("vcsn-d5005")
network = cluster.network()
Circuits.load(Path(__file__).with_name("users.toml"), cluster).open(network)
for node in (13, 14):  # both directions between the kernel and virtual port 0.0, the circuit between the two
    port, kernel = network.place(node, 0, 0), network.kernel_place(node)
    network.connect(node, port, kernel)
    network.connect(node, kernel, port)

matrix = np.random.default_rng(1).random((ROWS, COLUMNS))
sums = []


def sends_rows():
    for row in matrix:
        yield Send(row.tobytes())
    for _ in matrix:
        words = yield Receive(1)
        sums.append(np.frombuffer(words.data)[0])


def sums_squares():
    while True:
        words = yield Receive(COLUMNS * 8 // 64)
        yield Send((np.frombuffer(words.data) ** 2).sum().tobytes())


us = run(network, kernels=[Kernel(13, sends_rows()), Kernel(14, sums_squares(), serves=True)])
assert np.allclose(sums, (matrix**2).sum(axis=1))
print(f"{ROWS} rows of {COLUMNS * 8} bytes in {us:.2f} us, {ROWS * COLUMNS * 8 / us / 1e3:.2f} GB/s")
