# SPDX-License-Identifier: Apache-2.0
"""Commands of VCSN and DCN whose virtual times must not change."""

from __future__ import annotations

from collections.abc import Iterator

from ticks import Case


def cases() -> Iterator[Case]:
    """Transfers near and far, collectives by every algorithm, overload and rewiring."""
    for cluster, ways in (("vcsn-d5005", ("relink", "ring", "tree")), ("dcn-d5005", ("ring",))):
        for destination in (1, 8):
            yield Case(f"bench transfer --cluster {cluster} --destination {destination} --sizes 64,4K,1M", True)
        for collective in ("gather", "scatter"):
            for by in ways:
                for nodes in (4, 9, 16):
                    yield Case(
                        f"bench {collective} --cluster {cluster} --by {by} --nodes {nodes} --sizes 1K,256K", nodes == 9
                    )
        yield Case(f"bench gather --cluster {cluster} --late --sizes 64K,1M", False)
        for nodes in (2, 5, 16):
            yield Case(f"bench allgather --cluster {cluster} --nodes {nodes} --sizes 1K,64K", nodes == 5)
    yield Case("bench allgather --cluster vcsn-d5005 --by broadcast --nodes 5 --sizes 1K,64K", True)
    yield Case("bench gather --cluster vcsn-64 --by fabric --nodes 9 --sizes 1K,64K", True)
    yield Case("bench overload --cluster vcsn-d5005 --sizes 300000", True)
    yield Case("bench rewire --cluster vcsn-d5005 --to ring,torus:4x4,tree,line,mesh:2x8", True)
