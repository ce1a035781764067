# SPDX-License-Identifier: Apache-2.0
"""Counts the MPI calls of a program, by the profiling interface alone.

One wrapper for every function that the installed mpi.h declares, so that the count is independent of the tested code.
Preloaded into each rank; at MPI_Finalize a rank writes FOLDER/RANK.json, with FOLDER from $PMPI_COUNT.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

HEAD = """\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long calls[{count}];
static const char *const names[{count}] = {{{names}}};

static void report(int rank) {{
  const char *folder = getenv("PMPI_COUNT");
  if (!folder) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/%d.json", folder, rank);
  FILE *file = fopen(path, "w");
  if (!file) {{
    perror(path);
    exit(1);
  }}
  const char *separator = "{{";
  for (int i = 0; i < {count}; ++i)
    if (calls[i]) {{
      fprintf(file, "%s\\"%s\\": %lu", separator, names[i], calls[i]);
      separator = ", ";
    }}
  fprintf(file, "}}\\n");
  fclose(file);
}}
"""


def source(header: str) -> str:
    """The counter as C, for the functions that a preprocessed mpi.h declares."""
    functions: dict[str, str] = {}
    for name, parameters in re.findall(
        r"\bint\s+(MPI_[A-Z]\w*)\s*\(([^;{}]*?)\)[^;(){}]*(?:__attribute__[^;]*)?;", header
    ):
        if not name.startswith("MPI_T_") and "..." not in parameters:
            functions[name] = " ".join(parameters.split())
    text = HEAD.format(count=len(functions), names=", ".join(f'"{name}"' for name in functions))
    for index, (name, parameters) in enumerate(functions.items()):
        arguments = ", ".join(
            re.sub(r"(\[\w*\])+$", "", p.strip()).split()[-1].lstrip("*") for p in parameters.split(",")
        )
        call = f"P{name}({'' if parameters == 'void' else arguments})"
        body = f"  return {call};\n"
        if name == "MPI_Finalize":  # its callbacks may call MPI: counted, too
            body = f"  int rank;\n  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  int error = {call};\n  report(rank);\n  return error;\n"
        text += f"\nint {name}({parameters}) {{\n  ++calls[{index}];\n{body}}}\n"
    return text


def build(mpicc: str, folder: Path) -> Path:
    """Compiles the counter for the MPI of `mpicc`; returns the library to preload."""
    header = subprocess.run(
        [*shlex.split(mpicc), "-E", "-xc", "-"], input="#include <mpi.h>\n", text=True, capture_output=True, check=True
    ).stdout
    header = re.sub(r"^#.*$", "", header, flags=re.MULTILINE)
    (folder / "pmpi_count.c").write_text(source(header))
    library = folder / "pmpi_count.so"
    subprocess.run(
        [*shlex.split(mpicc), "-shared", "-fPIC", "-O1", "-w", str(folder / "pmpi_count.c"), "-o", str(library)],
        check=True,
    )
    return library


def counts(folder: Path) -> Counter[str]:
    """Calls of all ranks by function; the forms with large counts are under the plain name."""
    total: Counter[str] = Counter()
    for path in folder.glob("*.json"):
        for name, calls in json.loads(path.read_text()).items():
            total[name.removesuffix("_c")] += calls
    return total


if __name__ == "__main__":
    print(build(sys.argv[1], Path(sys.argv[2])))
