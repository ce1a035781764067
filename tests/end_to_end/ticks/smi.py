# SPDX-License-Identifier: Apache-2.0
"""Commands of SMI whose virtual times and cycle counts must not change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ticks import Case


def cases() -> Iterator[Case]:
    """Messages of every element size, distance and switching mode; every collective in every tree and order; also in
    switches."""
    noctua = "smi-noctua"
    for cluster, arities in ((noctua, (0, 2)), ("smi-noctua-bus", (0, 2)), ("smi-torus-8x8", (2, 4))):
        quick, sizes = cluster == noctua, "--sizes 64,4K"
        for element, senders in itertools.product(("char", "int", "double"), (1, 4)):
            yield Case(f"bench push --cluster {cluster} --element {element} --senders {senders} {sizes}", quick)
        for operation, switching in itertools.product(
            ("push", "latency"), ("packet", "circuit", "circuit --circuit-packets 7")
        ):
            yield Case(f"bench {operation} --cluster {cluster} --switching {switching} --hops 2 {sizes}", quick)
        yield Case(f"bench injection --cluster {cluster} --messages 500", quick)
        for arity in arities:
            yield Case(f"bench broadcast --cluster {cluster} --arity {arity} --root 3 {sizes}", quick)
            for order in ("one", "any"):
                yield Case(f"bench reduce --cluster {cluster} --arity {arity} --{order}-order --root 3 {sizes}", quick)
        for collective in ("scatter", "gather"):
            yield Case(f"bench {collective} --cluster {cluster} --root 3 {sizes}", quick)
    for collective in ("broadcast", "reduce", "scatter", "gather"):
        yield Case(f"bench {collective} --cluster {noctua} --in-switch mpi-fpga-torus-2x2x2 --sizes 8,1K,64K", True)
