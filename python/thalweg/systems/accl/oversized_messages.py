# SPDX-License-Identifier: Apache-2.0
"""Messages that are larger than all receive buffers of their receiver together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg.systems.accl.names import scenario

_ON_WIRE, _TO_STREAM = 8, 2  # bits of a call's compression flags and stream flags
_FIRST_MEMBER, _MEMBER_BYTES, _SESSION = 8, 24, 16  # offsets in a communicator
_BCAST_FLAT, _REDUCE_FLAT, _SPARE = 0x1FCC, 0x1FD4, 0x1FD8
_AT_ROOT = frozenset({"gather", "reduce"})
_BESIDE_ROOT = frozenset({"bcast", "scatter"})
_EVERYWHERE = frozenset({"allgather", "allreduce", "reduce_scatter", "alltoall"})


def beyond_buffers(rank: int, words: Sequence[int], read: Callable[[int, int], int | None]) -> str | None:
    """Returns a warning if a call sends or, as a collective, receives a message larger than all receive buffers of the
    receiver; else None.

    `rank` is the caller; `read(rank, address)` returns a word of a rank's exchange memory, None or 0 if unknown.
    """

    def word(address: int) -> int:
        return read(rank, address) or 0

    operation, count, communicator, root, configuration = scenario(words[0]), words[1], words[2], words[3], words[6]
    size, own = word(communicator), word(communicator + 4)
    receiver, elements = rank, count
    if operation == "send" and root != own and not words[8] & _TO_STREAM:
        receiver = word(communicator + _FIRST_MEMBER + _MEMBER_BYTES * root + _SESSION)
    elif operation == "allreduce":  # sent in blocks around a ring
        elements = -(-count // max(size, 1))
    elif operation not in _EVERYWHERE and operation not in (_AT_ROOT if own == root else _BESIDE_ROOT):
        return None
    if size < 2 or not configuration:
        return None
    bytes_ = elements * word(configuration + (4 if words[7] & _ON_WIRE else 0))
    buffers, buffer_bytes = read(receiver, 0x0) or 0, read(receiver, 0x4) or 0
    if not buffers or bytes_ <= buffers * buffer_bytes or (operation == "bcast" and _goes_in_parts(bytes_, size, word)):
        return None
    to = f" to rank {root} of its communicator" if operation == "send" else ""
    return (
        f"{operation}: a message of {bytes_} bytes{to} is larger than all {buffers} receive buffers of {buffer_bytes} bytes"
        f" together: on plain UDP, segments without a free buffer are lost, unless the receiver's call consumes them on arrival"
    )


def _goes_in_parts(bytes_: int, size: int, word: Callable[[int], int]) -> bool:
    """True if a large bcast is sent in parts that fit into the receive buffers (sim/accl/node.hpp)."""
    part, buffers, segment = 2 * word(_REDUCE_FLAT), word(0x0), max(word(0x4), 1)
    spare = word(_SPARE) or word(_SPARE + 4)
    return (
        bool(spare and part)
        and bytes_ > 8 * part
        and size > word(_BCAST_FLAT)
        and buffers >= 8 * (-(-part // segment) + 1)
    )
