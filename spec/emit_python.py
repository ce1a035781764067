# SPDX-License-Identifier: Apache-2.0
"""Emits Python: the modules thalweg.spec and, for each system, thalweg.systems.NAME.spec."""

from __future__ import annotations

from emit_cpp import camel
from model import Enum, Field, Format, Part, Spec


def _enum(enum: Enum) -> str:
    values = "".join(f"    {value.upper()} = {code}\n" for code, value in enumerate(enum.values))
    return f'class {camel(enum.name)}(IntEnum):\n    """{enum.doc}"""\n\n{values}'


def _type(f: Field) -> str:
    return camel(f.enum) if f.enum else "bool" if f.bits == 1 else "int"


def _default(f: Field) -> str:
    return f"{camel(f.enum)}(0)" if f.enum else "False" if f.bits == 1 else "0"


def _shift(fmt: Format, f: Field) -> int:
    """Position of the field in the whole format, taken as one number in its byte order."""
    return fmt.bits - f.offset - f.bits if fmt.network else f.offset


def _format(fmt: Format) -> str:
    members = "".join(f"    {f.name}: {_type(f)} = {_default(f)}\n" for f in fmt.members)
    packed = "".join(
        f"            | field(self.{f.name}, {f.bits}, {_shift(fmt, f)}, {f.name!r})\n".replace("'", '"')
        for f in fmt.members
    )
    constant = sum(f.constant << _shift(fmt, f) for f in fmt.fields if f.kind == "constant")
    unpacked = "".join(
        f"            {f.name}={_type(f)}({f'packed >> {_shift(fmt, f)}' if _shift(fmt, f) else 'packed'} & 0x{f.mask:X}),\n"
        for f in fmt.members
    )
    order = "big" if fmt.network else "little"
    source = f"\n\n    Source: {fmt.source}." if fmt.source else ""
    doc = f'    """{fmt.doc}{source}\n    """' if source else f'    """{fmt.doc}"""'
    return f"""\
@dataclass(frozen=True)
class {camel(fmt.name)}:
{doc}

    BITS: ClassVar[int] = {fmt.bits}

{members}
    def pack(self) -> bytes:
        \"\"\"The bytes on the wire; ValueError where a value doesn't fit its field.\"\"\"
        packed = (
            0x{constant:X}
{packed}        )
        return packed.to_bytes({fmt.bits // 8}, "{order}")

    @classmethod
    def unpack(cls, data: bytes) -> {camel(fmt.name)}:
        \"\"\"Reads the first {fmt.bits // 8} bytes; ValueError where they are fewer, or a code has no meaning.\"\"\"
        if len(data) < {fmt.bits // 8}:
            raise ValueError(f"{fmt.name} has {fmt.bits // 8} bytes, not {{len(data)}}")
        packed = int.from_bytes(data[:{fmt.bits // 8}], "{order}")
        return cls(
{unpacked}        )
"""


def _operators(names: tuple[str, ...]) -> str:
    return "frozenset({" + ", ".join(f"Operator.{n.upper()}" for n in names) + "})"


def _tables(spec: Spec) -> str:
    sizes = "".join(f"    Datatype.{d.name.upper()}: {d.size},\n" for d in spec.datatypes)
    supported = "".join(f"    Datatype.{d.name.upper()}: {_operators(d.operators)},\n" for d in spec.datatypes)
    mpi_types = "".join(
        f'    "{name}": MpiType(Datatype.{d.name.upper()}, {_operators(operators)}),\n'
        for d in spec.datatypes
        for name, operators in d.mpi.items()
    )
    mpi_operators = "".join(f'    "{name}": Operator.{op.upper()},\n' for name, op in spec.mpi_operators.items())
    return f'''\
@dataclass(frozen=True)
class MpiType:
    """What an MPI type is in the network, and the operators that reduce it there."""

    datatype: Datatype
    operators: frozenset[Operator]


# Bytes of an element in memory, as C lays it out.
SIZE: dict[Datatype, int] = {{
{sizes}}}

# The operators that the hardware has for a type.
OPERATORS: dict[Datatype, frozenset[Operator]] = {{
{supported}}}

MPI_TYPES: dict[str, MpiType] = {{
{mpi_types}}}

MPI_OPERATORS: dict[str, Operator] = {{
{mpi_operators}}}


def size_of(datatype: Datatype) -> int:
    """Bytes of an element in memory."""
    return SIZE[datatype]


def supported(operator: Operator, datatype: Datatype) -> bool:
    """True where the hardware has the operator for the type."""
    return operator in OPERATORS[datatype]


def field(value: int, bits: int, offset: int, name: str) -> int:
    """A value in its place; ValueError where it doesn't fit."""
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{{name}} is {{value}}, it has {{bits}} bits")
    return value << offset
'''


def _imports(part: Part) -> str:
    """Names that a system's formats import from the shared module."""
    own = {e.name for e in part.enums}
    shared = {f.enum for fmt in part.formats for f in fmt.members if f.enum and f.enum not in own}
    return ", ".join([*sorted(camel(name) for name in shared), "field"])


def module(spec: Spec, part: Part) -> str:
    blocks = [_enum(e) for e in part.enums]
    blocks += [] if part.system else [_tables(spec)]
    blocks += [_format(f) for f in part.formats]
    if part.frames:
        blocks += [f"# Of Ethernet frames: {part.frames.source}.\nETHER_TYPE = 0x{part.frames.type:04X}\n"]
    shared = f"\n\nfrom thalweg.spec import {_imports(part)}" if part.system else ""
    what = f"Packet formats and operations of {part.system}." if part.system else "Operators, types and common formats."
    return f'''\
# SPDX-License-Identifier: Apache-2.0
# Generated by spec/generate.py. Do not edit.
# ruff: noqa
# fmt: off
"""{what}"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar{shared}


{chr(10).join(block + chr(10) for block in blocks)}'''
