# SPDX-License-Identifier: Apache-2.0
"""Small faults of SystemVerilog, found in its syntax tree: plausible mistakes of a designer.

Excluded are faults that no functional test of a module can detect: in ports, parameters, widths of declarations,
assertions (everything that SYNTHESIS excludes) and elaboration checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyslang import Bag, SourceManager
from pyslang.parsing import PreprocessorOptions, Token
from pyslang.syntax import SyntaxKind, SyntaxNode, SyntaxTree

SWAPPED = {
    "+": "-",
    "-": "+",
    "*": "+",
    "&&": "||",
    "||": "&&",
    "&": "|",
    "|": "&",
    "^": "&",
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "<<": ">>",
    ">>": "<<",
}
SKIPPED = {SyntaxKind.ModuleHeader, SyntaxKind.PackageHeader, SyntaxKind.VariableDimension, SyntaxKind.ElabSystemTask}
GENERATE = {SyntaxKind.IfGenerate, SyntaxKind.LoopGenerate, SyntaxKind.GenerateBlock}
ASSIGNMENTS = {SyntaxKind.AssignmentExpression, SyntaxKind.NonblockingAssignmentExpression}


@dataclass(frozen=True)
class Fault:
    kind: str
    start: int  #: offset in bytes in the source
    end: int
    old: str
    new: str

    def applied(self, source: str) -> str:
        """The source with the fault inserted; its line numbers do not change."""
        lost = self.old.count("\n") - self.new.count("\n")
        return source[: self.start] + self.new + "\n" * lost + source[self.end :]

    def line(self, source: str) -> int:
        return source.count("\n", 0, self.start) + 1


def faults(file: Path) -> list[Fault]:
    """All faults of a file (ASCII), in the order of the text."""
    options = PreprocessorOptions()
    options.predefines = ["SYNTHESIS"]
    bag = Bag()
    bag.preprocessorOptions = options
    tree = SyntaxTree.fromFile(str(file), SourceManager(), bag)
    if any(diagnostic.isError() for diagnostic in tree.diagnostics):
        raise ValueError(f"{file} is no SystemVerilog")
    source = file.read_text(encoding="ascii")
    return sorted(set(_walk(tree.root, source)), key=lambda fault: (fault.start, fault.end, fault.new))


def _children(node: SyntaxNode) -> Iterator[SyntaxNode]:
    return (child for child in node if isinstance(child, SyntaxNode))


def _is_check(node: SyntaxNode) -> bool:
    """True for an elaboration message, or generate constructs that contain nothing else."""
    match node.kind:
        case SyntaxKind.ElabSystemTask:
            return True
        case SyntaxKind.IfGenerate:
            return node.elseClause is None and _is_check(node.block)
        case SyntaxKind.LoopGenerate:
            return _is_check(node.block)
        case SyntaxKind.GenerateBlock:
            return all(_is_check(member) for member in node.members)
        case _:
            return False


def _walk(node: SyntaxNode, source: str) -> Iterator[Fault]:
    if node.kind in SKIPPED or node.kind.name.endswith("Type") or _is_check(node):
        return
    yield from _faults_at(node, source)
    # The part before the apostrophe of a cast is a width or a type.
    children = [node.right] if node.kind == SyntaxKind.CastExpression else node
    for child in children:
        if isinstance(child, SyntaxNode):
            yield from _walk(child, source)


def _faults_at(node: SyntaxNode, source: str) -> Iterator[Fault]:
    def text(part: SyntaxNode) -> str:
        return source[part.sourceRange.start.offset : part.sourceRange.end.offset]

    def fault(kind: str, part: SyntaxNode | Token, new: str) -> Fault:
        place = part.range if isinstance(part, Token) else part.sourceRange
        start, end = place.start.offset, place.end.offset
        return Fault(kind, start, end, source[start:end], new)

    def stuck(left: str, right: SyntaxNode) -> Iterator[Fault]:
        one = f"($bits({left}))'(1)"
        yield fault("stuck", right, f"({text(right)}) | {one}")
        yield fault("stuck", right, f"({text(right)}) & ~({one} << ($bits({left}) - 1))")

    match node.kind:
        case SyntaxKind.IntegerLiteralExpression:
            value = int(text(node).replace("_", ""))
            yield fault("constant", node, str(value + 1))
            if value > 0:
                yield fault("constant", node, str(value - 1))
        case SyntaxKind.UnbasedUnsizedLiteralExpression:
            yield fault("constant", node, {"'0": "'1", "'1": "'0"}[text(node)])
        case SyntaxKind.IntegerVectorExpression:
            size, base, digits = re.fullmatch(r"(\d+)'([bdh])([0-9a-fA-F_]+)", text(node)).groups()
            value = int(digits.replace("_", ""), {"b": 2, "d": 10, "h": 16}[base]) ^ 1
            yield fault("constant", node, f"{size}'{base}{value:{base.replace('h', 'x')}}")
        case SyntaxKind.UnaryLogicalNotExpression:
            yield fault("condition", node, text(node.operand))
        case SyntaxKind.ConditionalPredicate:
            yield fault("condition", node, f"!({text(node)})")
        case SyntaxKind.ConditionalExpression:
            branches = f"{text(node.predicate)} ? {text(node.right)} : {text(node.left)}"
            yield fault("branches", node, branches)
        case SyntaxKind.ExpressionStatement:
            yield fault("statement", node, ";")
        case SyntaxKind.BitSelect if node.expr.kind != SyntaxKind.IntegerLiteralExpression:
            yield fault("index", node, f"({text(node)}) ^ 1")
        case SyntaxKind.NetDeclaration:
            for declarator in node.declarators:
                if isinstance(declarator, SyntaxNode) and declarator.initializer:
                    yield from stuck(declarator.name.valueText, declarator.initializer.expr)
        case _:
            token = getattr(node, "operatorToken", None)
            if token and token.valueText in SWAPPED and node.kind not in ASSIGNMENTS:
                yield fault("operator", token, SWAPPED[token.valueText])
            if node.kind in ASSIGNMENTS:
                yield from stuck(text(node.left), node.right)
