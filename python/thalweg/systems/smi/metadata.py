# SPDX-License-Identifier: Apache-2.0
"""Metadata of a program's SMI operations: JSON in the format of the public reference implementation.

    {"operations": [{"type": "reduce", "port": 0, "data_type": "int", "buffer_size": null, "args": {"op_type": "add"}}],
     "consecutive_reads": 8, "max_ranks": 8}

Endpoints are ordered by port, a push before a pop.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thalweg.errors import InputError
from thalweg.systems.smi import routes

Kind = Literal["push", "pop", "broadcast", "scatter", "gather", "reduce"]
DataType = Literal["int", "float", "double", "char", "short"]

BYTES = {"char": 1, "short": 2, "int": 4, "float": 4, "double": 8}
BUFFER = 16  #: default, in packets
MAX_READS = 256  #: maximum of consecutive reads of an input


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Arguments(_Table):
    op_type: Literal["add", "max", "min"] = Field(default="add", description="add, max or min")


class Operation(_Table):
    type: Kind = Field(description="push, pop, broadcast, scatter, gather or reduce")
    port: int = Field(ge=0, le=255, description="from 0 to 255")
    data_type: DataType = Field("int", description="int, float, double, char or short")
    buffer_size: int | None = Field(
        None, ge=1, le=65536, description="elements buffered between network and pop, or null"
    )
    args: Arguments = Arguments()

    @property
    def size(self) -> int:
        """log2 of the size of an element in bytes."""
        return BYTES[self.data_type].bit_length() - 1

    @property
    def buffer_packets(self) -> int:
        """Number of 32-byte packets buffered by its endpoint."""
        if self.buffer_size is None:
            return BUFFER
        return -(-self.buffer_size // (28 // BYTES[self.data_type]))


class Metadata(_Table):
    operations: list[Operation] = Field(description="a list")
    consecutive_reads: int = Field(8, ge=1, le=MAX_READS, description="consecutive reads of one input (R)")
    max_ranks: int = Field(8, ge=1, le=256, description="maximum number of ranks")
    p2p_rendezvous: bool = Field(True, description="support credits for point-to-point channels")


@dataclass(frozen=True)
class Program:
    """The endpoints of a program, by number."""

    name: str
    operations: tuple[Operation, ...]
    reads: int
    max_ranks: int
    credits: bool = True  #: support credits for point-to-point channels

    @property
    def endpoints(self) -> list[routes.Endpoint]:
        return [routes.Endpoint(operation.type, operation.port) for operation in self.operations]

    def receive_tables(self, links: int) -> routes.Table:
        """Returns the tables of receive kernels of a rank with `links` links."""
        return routes.receive_tables(self.endpoints, links)


def read(file: Path) -> Program:
    """Reads a metadata file. Raises InputError with the valid alternatives."""
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file, error.lineno) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError("is not JSON", file) from error
    return of_values(whole, file.stem, file)


def of_values(whole: Any, name: str, file: Path | None = None) -> Program:
    """Returns the program of parsed metadata. Raises InputError."""
    try:
        made = Metadata.model_validate(whole)
    except ValidationError as error:
        raise InputError(_what(error), file or name) from None
    operations = tuple(sorted(made.operations, key=lambda operation: (operation.port, operation.type != "push")))
    program = Program(name, operations, made.consecutive_reads, made.max_ranks, made.p2p_rendezvous)
    try:
        program.receive_tables(1)
    except InputError as error:
        raise InputError(error.what, file or name) from None
    return program


def _what(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"]).lstrip(".")
    return f"{path or 'metadata'}: {first['msg'][:1].lower()}{first['msg'][1:]}"
