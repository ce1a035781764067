# SPDX-License-Identifier: Apache-2.0
"""Runs METIS in a separate process, as METIS catches SIGTERM and then returns a partial result or never returns.

Standard input has the number of parts, the start of each element's neighbours, and the neighbours; standard output has
the part of each element.
"""

import json
import os
import signal
import sys

if __name__ == "__main__":
    # Before a library starts threads, which inherit the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # METIS prints to stdout
    import pymetis

    parts, starts, neighbours = json.load(sys.stdin)
    graph = pymetis.CSRAdjacency(starts, neighbours)
    with answer:
        json.dump([int(part) for part in pymetis.part_graph(parts, graph, options=pymetis.Options(seed=1))[1]], answer)
