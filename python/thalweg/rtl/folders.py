# SPDX-License-Identifier: Apache-2.0
"""Search paths for parts of a module: the shared folders and the module's own system. Parts of other systems are not
found."""

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
    """Returns the search path of a module of rtl/`folder`; '' means no system."""
    own = [] if folder in (*LEAVES, "") else [f"spec/generated/sv/{folder}", f"rtl/{folder}", f"rtl/{folder}/parts"]
    return [*_SHARED, *own]


def folder_of(root: Path, file: Path) -> str:
    """Returns the folder of rtl/ that a file belongs to; '' if it is elsewhere."""
    rtl = root / "rtl"
    return file.relative_to(rtl).parts[0] if file.is_relative_to(rtl) else ""


def packages(root: Path, folder: str) -> list[Path]:
    """Returns the packages that a module of rtl/`folder` may use."""
    return [path for part in rtl_folders(folder) for path in sorted((root / part).glob("*_pkg.sv"))]


def waivers(root: Path, folder: str) -> list[Path]:
    """Returns Verilator's lint waivers, general ones and those of rtl/`folder`."""
    return [path for path in (root / "rtl/lint.vlt", root / "rtl" / folder / "lint.vlt") if path.exists()]
