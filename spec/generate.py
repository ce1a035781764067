#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates files from the specification: C++, SystemVerilog, Python, Wireshark dissectors, test vectors and the page
on packets.

python3 spec/generate.py           writes the files
python3 spec/generate.py --check   lists stale files, and fails if there are any
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import assemble
import emit_cpp
import emit_docs
import emit_python
import emit_sv
import emit_wireshark
import vectors
from model import SpecError, load

ROOT = Path(__file__).resolve().parent.parent


def outputs(root: Path = ROOT) -> dict[Path, str]:
    """Text of each generated file, by path."""
    spec = load(root / "spec")
    cases = vectors.make(spec)
    programs = assemble.assemble(root / "spec" / "accl" / "programs.txt")
    generated = root / "spec" / "generated"
    package = root / "python" / "thalweg"
    texts = {
        generated / "cpp" / "thalweg_spec_mpi.inc": emit_cpp.mpi_names(spec),
        generated / "cpp" / "thalweg_spec_vectors.hpp": emit_cpp.vectors(spec, cases),
        generated / "vectors.json": vectors.as_json(cases),
        generated / "cpp" / "thalweg_accl_programs.hpp": assemble.cpp(programs),
        generated / "sv" / "accl" / "tw_accl_programs_pkg.sv": assemble.sv(programs),
        generated / "packets.md": emit_docs.page(spec),
    }
    for part in spec.parts:
        texts[generated / "cpp" / emit_cpp.file_of(part)] = emit_cpp.header(spec, part)
        texts[generated / "sv" / part.system / f"{emit_sv.name_of(part)}.sv"] = emit_sv.package(spec, part)
        folder = package / "systems" / part.system if part.system else package
        if part.frames:
            texts[generated / "wireshark" / f"{part.system}.lua"] = emit_wireshark.dissector(spec, part)
        texts[folder / "spec.py"] = emit_python.module(spec, part)
    return texts


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: generate.py [--check]", file=sys.stderr)
        return 2
    try:
        texts = outputs()
    except SpecError as error:
        print(error, file=sys.stderr)
        return 2
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python3 spec/generate.py", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
