# SPDX-License-Identifier: Apache-2.0
"""Loop pragmas and attributes of common compilers. Each is applied, ignored as without effect, or refused by name.

Factors and intervals are expressions in the language of the source, evaluated by the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thalweg.errors import InputError

#: without effect: only the interval determines the cycles of an iteration, not dependences or the order of nested loops
_WITHOUT_INFLUENCE = frozenset(
    (
        "ivdep",
        "GCC:ivdep",
        "loop_coalesce",
        "nofusion",
        "nounroll_and_jam",
        "loop_count",
        "vector",
        "novector",
        "intel::ivdep",
        "intel::loop_coalesce",
        "intel::nofusion",
        "intel::loop_count",
        "intel::loop_count_min",
        "intel::loop_count_max",
        "intel::loop_count_avg",
        "likely",
        "unlikely",
        "unused",
        "maybe_unused",
        "nomerge",
        "clang::nomerge",
    )
)
_OF_CLANG_WITHOUT_INFLUENCE = frozenset(
    ("vectorize", "vectorize_width", "vectorize_predicate", "interleave", "interleave_count", "distribute")
)
#: first words of pragmas that never apply to loops
_OF_NO_LOOP = frozenset(
    (
        "OPENCL",
        "STDC",
        "pack",
        "message",
        "push_macro",
        "pop_macro",
        "once",
        "region",
        "endregion",
        "mark",
        "GCC:diagnostic",
        "GCC:visibility",
        "GCC:optimize",
        "GCC:push_options",
        "GCC:pop_options",
        "GCC:reset_options",
        "GCC:target",
        "GCC:system_header",
        "GCC:poison",
        "GCC:warning",
        "GCC:error",
        "clang:diagnostic",
        "clang:attribute",
        "clang:fp",
        "clang:optimize",
        "clang:system_header",
        "clang:assume_nonnull",
    )
)
_SLOWER = "its cost in cycles is unknown: give the interval, #pragma ii N"
_REFUSED = {
    "disable_loop_pipelining": _SLOWER,
    "max_concurrency": _SLOWER,
    "max_interleaving": _SLOWER,
    "speculated_iterations": _SLOWER,
    "xcl_pipeline_loop": "use #pragma ii N",
    "xcl_loop_tripcount": "remove it",
    "max_reinvocation_delay": _SLOWER,
    "loop_fuse": "write one loop",
    "unroll_and_jam": "write the loop in that form",
    "HLS": "use #pragma unroll N and #pragma ii N, before the loop",
    "omp": "kernels are not parallelized by OpenMP: use #pragma unroll N",
    "acc": "kernels are not parallelized by OpenACC: use #pragma unroll N",
}
VENDORS = ("intel::", "INTEL::", "intelfpga::", "altera::")


@dataclass(frozen=True)
class Operand:
    """An expression. `pragma` is the number of its pragma, whose macros are still to be expanded, or -1."""

    text: str
    pragma: int = -1


@dataclass
class LoopSettings:
    """Unroll factor and interval of a loop, set by pragmas and attributes."""

    unroll: Operand | None = None  #: factor; an empty text means complete unrolling
    interval: Operand | None = None
    pipeline: tuple[Operand, Operand] | None = None  #: interval and depth
    turns: int = -1  #: offset of the loop that shares this loop's iterations in one pipeline
    by: dict[str, str] = field(default_factory=dict)  #: the pragma or attribute that set each value

    def add(self, other: LoopSettings) -> None:
        """Merges the settings of another pragma or attribute. Raises InputError if both set the same value."""
        for what, name in other.by.items():
            if what in self.by:
                raise InputError(f"{name} and {self.by[what]} both apply to one loop; give one of them")
        self.unroll = other.unroll or self.unroll
        self.interval = other.interval or self.interval
        self.pipeline = other.pipeline or self.pipeline
        self.turns = max(self.turns, other.turns)
        self.by |= other.by

    @property
    def whole(self) -> bool:
        """True if the loop is unrolled completely. Raises InputError if it has an interval as well."""
        whole = self.unroll is not None and not self.unroll.text
        if whole and "interval" in self.by:
            raise InputError(
                f"{self.by['interval']} has no effect on a loop that {self.by['unroll']} unrolls completely; remove one of them"
            )
        return whole


def of_pragma(words: Sequence[str], number: int) -> LoopSettings | bool:
    """Returns the settings of a pragma, from the words after `pragma`.

    Returns True if it has no effect on loops, False if it is unknown. Raises InputError.
    """
    name = ":".join(words[:2]) if words[:1] in (["GCC"], ["clang"]) else "".join(words[:1])
    called, rest = f"#pragma {name.replace(':', ' ')}", list(words[1 + (":" in name) :])
    if name in ("unroll", "GCC:unroll"):
        text = " ".join(rest)
        if name == "GCC:unroll" and not text:
            raise InputError("#pragma GCC unroll needs a number of iterations")
        if name == "GCC:unroll":  # 0 and 1 disable unrolling
            text = f"({text}) == 0 ? 1 : ({text})"
        return LoopSettings(unroll=Operand(text, number), by={"unroll": called})
    if name == "nounroll":
        return LoopSettings(unroll=Operand("1"), by={"unroll": called})
    if name == "ii":
        if not rest:
            raise InputError("#pragma ii needs a number of cycles")
        return LoopSettings(interval=Operand(" ".join(rest), number), by={"interval": called})
    if name == "smi":
        return _pipeline(rest, number)
    if name == "clang:loop":
        return _of_clang(rest, number)
    if name in _REFUSED:
        raise InputError(f"{called}: {_REFUSED[name]}")
    return name in _WITHOUT_INFLUENCE or (name in _OF_NO_LOOP)


def is_of_loops(words: Sequence[str]) -> bool:
    """True if a pragma may apply to a loop; other pragmas stay in the text."""
    return ":".join(words[:2]) not in _OF_NO_LOOP and "".join(words[:1]) not in _OF_NO_LOOP


def of_attributes(words: Sequence[str]) -> LoopSettings:
    """Returns the settings of a loop's attributes, from the words within [[ ]] or __attribute__(( )).

    Raises InputError for an unknown attribute.
    """
    settings = LoopSettings()
    for name, operand in _calls(words, ","):
        plain = name
        for vendor in VENDORS:
            plain = plain.removeprefix(vendor)
        plain = plain.strip("_") if plain.startswith("__") else plain
        if plain == "opencl_unroll_hint":
            settings.add(LoopSettings(unroll=Operand(operand or ""), by={"unroll": name}))
        elif name.startswith(VENDORS) and plain in ("ii", "initiation_interval"):
            settings.add(LoopSettings(interval=Operand(operand or ""), by={"interval": name}))
        elif plain in _REFUSED:
            raise InputError(f"attribute {name}: {_REFUSED[plain]}")
        elif plain not in _WITHOUT_INFLUENCE and f"intel::{plain}" not in _WITHOUT_INFLUENCE:
            raise InputError(f"unknown loop attribute {name}; remove it")
    return settings


def precedes_loop(name: str) -> bool:
    """True for attributes that must precede a loop."""
    return name in ("opencl_unroll_hint", "__opencl_unroll_hint__")


def _pipeline(words: Sequence[str], number: int) -> LoopSettings:
    parts = {"interval": "1", "depth": "0"}
    found = dict(_calls(words))
    if not found or not set(found) <= set(parts) or any(not operand for operand in found.values()):
        raise InputError("#pragma smi takes interval(N), depth(N), or both")
    parts |= {name: operand or "" for name, operand in found.items()}
    pipeline = (Operand(parts["interval"], number), Operand(parts["depth"], number))
    return LoopSettings(pipeline=pipeline, by={"interval": "#pragma smi"})


def _of_clang(words: Sequence[str], number: int) -> LoopSettings | bool:
    settings = LoopSettings()
    for name, operand in _calls(words):
        called = f"#pragma clang loop {name}({operand})"
        if name == "unroll_count":
            settings.add(LoopSettings(unroll=Operand(operand or "", number), by={"unroll": called}))
        elif name == "unroll" and operand in ("full", "disable"):
            settings.add(LoopSettings(unroll=Operand("" if operand == "full" else "1"), by={"unroll": called}))
        elif name == "pipeline_initiation_interval":
            settings.add(LoopSettings(interval=Operand(operand or "", number), by={"interval": called}))
        elif name not in _OF_CLANG_WITHOUT_INFLUENCE:
            raise InputError(f"{called} does not specify a number: use #pragma unroll N, #pragma ii N")
    return settings


def _calls(words: Sequence[str], separator: str = "") -> Iterator[tuple[str, str | None]]:
    """Yields names and operands of `name(operand) name ...`, or of such a list with separators; names may be qualified."""
    at = 0
    while at < len(words):
        if separator and words[at] == separator:
            at += 1
            continue
        name = words[at]
        at += 1
        while at + 1 < len(words) and "".join(words[at : at + 2]) == "::":
            name, at = f"{name}::{words[at + 2]}" if at + 2 < len(words) else name, at + 3
        while at + 1 < len(words) and words[at] == "::":
            name, at = f"{name}::{words[at + 1]}", at + 2
        operand = None
        if at < len(words) and words[at] == "(":
            depth, first = 1, at + 1
            at = first
            while at < len(words) and depth:
                depth += (words[at] == "(") - (words[at] == ")")
                at += 1
            operand = " ".join(words[first : at - 1])
        yield name, operand
