# SPDX-License-Identifier: Apache-2.0
"""Attributes of kernels, channels and variables known to FPGA compilers but not to clang.

Each is applied, refused by name, or ignored as without effect on the simulation. Attributes of loops are in pragmas.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from thalweg.kernels import pragmas
from thalweg.kernels.source import Attribute, Source

AUTORUN = "autorun"
_DEPTH = "depth"
#: without effect: a kernel is one work item at offset 0, its clock is the cluster's, and the host chooses the banks of
#: its buffers
_OF_KERNELS = frozenset(
    (
        AUTORUN,
        "task",
        "max_global_work_dim",
        "max_work_group_size",
        "uses_global_work_offset",
        "scheduler_target_fmax_mhz",
        "stall_enable",
        "use_stall_enable_clusters",
        "kernel_args_restrict",
        "buffer_location",
        "align",
    )
)
#: without effect: accesses to a kernel's own arrays and variables take no time
_OF_MEMORY = frozenset(
    (
        "memory",
        "fpga_memory",
        "internal",
        "register",
        "fpga_register",
        "numbanks",
        "bankwidth",
        "bank_bits",
        "singlepump",
        "doublepump",
        "numreadports",
        "numwriteports",
        "simple_dual_port",
        "merge",
        "max_replicates",
        "private_copies",
        "max_private_copies",
        "max_concurrency",
        "force_pow2_depth",
        "static_array_reset",
        "optimize_fmax",
        "optimize_ram_usage",
    )
)
_OF_OTHER_COMPILERS = frozenset(("optimize", "noclone", "noipa", "externally_visible", "no_reorder"))
_WITHOUT_INFLUENCE = _OF_KERNELS | _OF_MEMORY | _OF_OTHER_COMPILERS | {_DEPTH}
_REPLICATED = "kernels are not replicated: start one for each compute unit"
_ITEMS = "a kernel is one work item: write the loop over work items"
#: only the value 1 is supported
_ONE = {"num_compute_units": _REPLICATED, "num_simd_work_items": _ITEMS, "reqd_work_group_size": _ITEMS}
_REFUSED = {
    "io": "the board's own channels are not simulated: write a kernel for their other end",
    "local_mem_size": "local memory is an array in the kernel",
    "max_interleaving": "give the interval, #pragma ii N",
    "initiation_interval": "not followed by a loop",
    "ii": "not followed by a loop",
    "blocking": "kernels of a rank communicate by channels: channel int name __attribute__((depth(8)))",
}


def check(source: Source, of_loops: frozenset[int], kernels: Sequence[Any]) -> list[str]:
    """Returns static assertions for the compiler about values of attributes.

    Raises InputError, with the line, for an attribute that is not supported.
    """
    lines: list[str] = []
    for attribute in [*source.attributes, *(each for kernel in kernels for each in _known(source, kernel))]:
        name = _plain(attribute.name)
        if attribute.at in of_loops or name in _WITHOUT_INFLUENCE:
            continue
        if name not in _ONE:
            raise source.refuse(attribute.at, f"attribute {attribute.name}: {_REFUSED.get(name, 'unknown; remove it')}")
        file, line = source.where(attribute.at)
        word = "static_assert" if source.language == "c++" else "_Static_assert"
        for value in _parts(attribute.words):
            lines += [f'# {line} "{file}"', f'{word}(({value}) == 1, "attribute {name}: {_ONE[name]}");']
    return lines


def of_kernel(source: Source, cursor: Any) -> Iterator[Attribute]:
    """Yields the attributes before a kernel's body."""
    first = cursor.extent.start.offset
    body = next(child for child in cursor.get_children() if child.kind.name == "COMPOUND_STMT").extent.start.offset
    before = source.ends[bisect_left(source.ends, first + 1) - 1] if source.ends and source.ends[0] <= first else 0
    for attribute in source.attributes:
        if first <= attribute.at < body or (
            before <= attribute.at < first
            and not any(token.text in ";{}" for token in source.tokens(attribute.at, first))
        ):
            yield attribute


def depth_of_channel(source: Source, cursor: Any, declared: Sequence[Any]) -> Attribute | None:
    """Returns the depth attribute of a channel.

    `declared` has all channels. A depth before the first name of a declaration applies to all its names.
    """
    at = cursor.location.offset
    begin = max(channel for channel in source.channels if channel <= at)
    names = sorted(each.location.offset for each in declared if each.location.offset >= begin)
    end = min(each for each in [*names, *source.channels, len(source.text)] if each > at)
    of_all = (begin, names[0])
    for first, last in (at, end), of_all:
        for attribute in source.attributes:
            if _plain(attribute.name) == _DEPTH and first <= attribute.at < last:
                return attribute
    return None


def _known(source: Source, kernel: Any) -> Iterator[Attribute]:
    """Yields the attributes of a kernel that clang knows."""
    for child in kernel.get_children():
        if child.kind.is_attribute() and child.extent.end.offset > child.extent.start.offset:
            at = child.extent.start.offset
            for token in source.tokens(at, child.extent.end.offset)[:1]:
                if token.text in _ONE:
                    yield source.attribute(at, token.text)


def _plain(name: str) -> str:
    for vendor in pragmas.VENDORS:
        name = name.removeprefix(vendor)
    return name[2:-2] if name.startswith("__") and name.endswith("__") else name


def _parts(words: Sequence[str]) -> list[str]:
    """Splits words at commas outside of brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in "([{") - (word in ")]}")
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return [" ".join(part) for part in parts if part]


def no_vector_is_printed(source: Source) -> None:
    """Raises InputError, with the line, for printf of a vector: the processor's printf does not support OpenCL's %v4f."""
    if "printf" not in source.text:
        return
    for declaration in source.declarations():
        if declaration.location.is_in_system_header:
            continue
        for cursor in declaration.walk_preorder():
            if cursor.kind.name == "CALL_EXPR" and cursor.spelling == "printf":
                for argument in cursor.get_arguments():
                    if argument.type.get_canonical().kind.name in ("VECTOR", "EXTVECTOR"):
                        raise source.refuse(
                            cursor.extent.start.offset, "printf of a vector is not supported: print its elements"
                        )
