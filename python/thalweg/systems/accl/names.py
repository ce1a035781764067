# SPDX-License-Identifier: Apache-2.0
"""Names of ACCL's operations and of the bits of return codes, in the numbering of its driver."""

from __future__ import annotations

SCENARIOS = {
    0: "config",
    1: "copy",
    2: "combine",
    3: "send",
    4: "recv",
    5: "bcast",
    6: "scatter",
    7: "gather",
    8: "reduce",
    9: "allgather",
    10: "allreduce",
    11: "reduce_scatter",
    12: "barrier",
    13: "alltoall",
    255: "nop",
}

WITHOUT_DATA = frozenset({0, 12, 255})
"""Scenarios whose `count` is not a number of elements."""

RETURN_BITS = (
    "DMA mismatch",
    "DMA internal error",
    "DMA decode error",
    "DMA slave error",
    "DMA not okay",
    "DMA without end of packet",
    "DMA of unexpected length",
    "DMA time-out",
    "switch not configured",
    "dequeue time-out",
    "dequeue: wrong buffer status",
    "receive time-out",
    "dequeue: wrong DMA tag",
    "dequeue: wrong buffer number",
    "not implemented",
    "receive: no such buffer",
    "invalid eager limit",
    "invalid rendezvous limit",
    "DMA size error",
    "arithmetic error",
    "packetizer time-out",
    "packetizer: wrong sequence number",
    "compression error",
    "kernel stream time-out",
    "kernel stream: wrong count",
    "segmenter: unexpected length",
    "wrong DMA tag",
)
"""Names of bits 0 to 26."""
NOT_READY = 31
RECEIVE_TIME_OUT = 1 << RETURN_BITS.index("receive time-out")


def scenario(number: int) -> str:
    """Returns the name of an operation; its number if unknown."""
    return SCENARIOS.get(number, f"scenario {number}")


def return_bits(code: int) -> list[str]:
    """Returns the names of the bits that are set in a return code."""
    names = {**dict(enumerate(RETURN_BITS)), NOT_READY: "not ready"}
    return [names.get(bit, f"bit {bit}") for bit in range(code.bit_length()) if code >> bit & 1]
