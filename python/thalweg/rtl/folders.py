# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a module are looked for: in the leaves, and in its own system. What it names of another one isn't found."""

from __future__ import annotations

from pathlib import Path

LEAVES = ("common", "ethernet", "link", "reduce", "switch")
_SHARED = (
    "spec/generated/sv",
    "rtl/common",
    "rtl/ethernet",
    "rtl/ethernet/parts",
    "rtl/link",
    "rtl/reduce",
    "rtl/reduce/parts",
    "rtl/switch",
)


def rtl_folders(folder: str) -> list[str]:
    """Of a module of rtl/`folder`; '' stands for one of no system."""
    own = [] if folder in (*LEAVES, "") else [f"spec/generated/sv/{folder}", f"rtl/{folder}", f"rtl/{folder}/parts"]
    return [*_SHARED, *own]


def folder_of(root: Path, file: Path) -> str:
    """The folder of rtl/ that a file belongs to; '' where it is elsewhere."""
    rtl = root / "rtl"
    return file.relative_to(rtl).parts[0] if file.is_relative_to(rtl) else ""


def packages(root: Path, folder: str) -> list[Path]:
    """The packages that a module of rtl/`folder` may name."""
    return [path for part in rtl_folders(folder) for path in sorted((root / part).glob("*_pkg.sv"))]


def waivers(root: Path, folder: str) -> list[Path]:
    """What Verilator's lint is to overlook: everywhere, and in rtl/`folder`."""
    return [path for path in (root / "rtl/lint.vlt", root / "rtl" / folder / "lint.vlt") if path.exists()]
