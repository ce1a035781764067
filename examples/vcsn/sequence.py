# SPDX-License-Identifier: Apache-2.0
"""Eight FPGAs in a ring forward a block into the memory of each, by programs of their sequencers; the last one sends a word to
the first when it has the block. No host is involved in between."""

import random

from thalweg.vcsn import AwaitWord, Cluster, Connect, Read, Row, SendWord, VirtualPort, Write

NODES, SIZE = 8, 64 << 10

network = Cluster.load("vcsn-64").network()
block = random.Random(1).randbytes(SIZE)
network.store(0, 0, block)
for node in range(NODES):
    goes, comes, own = network.place(node, 0, 0), network.place(node, 0, 1), network.sequencer_place(node, 0)
    program = [
        Row(0, 0, VirtualPort((node + 1) % NODES, 0, 1), credits=True),
        Row(0, 1, VirtualPort((node - 1) % NODES, 0, 0), credits=True),
    ]
    if node > 0:
        program += [Connect(0, comes), Write(0, [(0, SIZE)])]
    if node < NODES - 1:
        program += [Connect(goes, 0), Read(0, [(0, SIZE)])]
    else:
        program += [Connect(goes, own), SendWord()]
    if node == 0:
        program += [Connect(own, comes), AwaitWord()]
    network.sequence(node, node, 0, program)

ended = {}
while len(ended) < NODES:
    for done in network.advance():
        ended[done.handle] = done.at / network.ticks_per_second * 1e6
assert all(network.load(node, 0, SIZE) == block for node in range(NODES))
print(f"{NODES - 1} FPGAs got {SIZE} bytes; the first one knew it after {ended[0]:.1f} us")
