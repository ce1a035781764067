# SPDX-License-Identifier: Apache-2.0
"""Commands of PEACH2 whose virtual times and cycle counts must not change."""

from __future__ import annotations

from collections.abc import Iterator

from ticks import Case


def cases() -> Iterator[Case]:
    """Puts by every mechanism and to every distance; reductions by hubs, hosts and processors, of one node and of
    several."""
    for cluster, most_hops, nodes in (("peach2-ring-4", 2, (2, 4)), ("peach2", 5, (2, 8, 16))):
        ways = [f"--source {memory} --by dma" for memory in ("cpu", "gpu")]
        ways += [*(f"{way} {more}" for way in ways for more in ("--descriptors host", f"--hops {most_hops}"))]
        for way in (*ways, "--source cpu --by store", "--source gpu --by copies"):
            yield Case(f"bench put --cluster {cluster} {way} --sizes 4,8,256,4K,64K", True)
        for way in ("hub", "host", "cpu", *(f"hub --nodes {count}" for count in nodes)):
            yield Case(f"bench reduce --cluster {cluster} --by {way} --sizes 32,1K,64K", True)
