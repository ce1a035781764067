# SPDX-License-Identifier: Apache-2.0
"""Conversion of waveforms from VCD to FST, which is much smaller and read by GTKWave and Surfer."""

from __future__ import annotations

from pathlib import Path

from thalweg.errors import InputError


def to_fst(vcd: Path) -> Path:
    """Converts a VCD file to FST (suffix .fst), and removes it.

    Raises InputError if the package that writes FST is missing.
    """
    try:
        from pylibfst import ffi, lib
    except ImportError:
        raise InputError("waves need the Python package pylibfst: pip install pylibfst") from None

    fst = vcd.with_suffix(".fst")
    writer = lib.fstWriterCreate(str(fst).encode(), 1)
    signals: dict[str, tuple[int, int]] = {}  # handle and bits
    with vcd.open() as lines:
        for line in lines:
            match line.split():
                case ["$timescale", scale, *_]:
                    lib.fstWriterSetTimescaleFromString(writer, scale.encode())
                case ["$scope", _, name, "$end"]:
                    lib.fstWriterSetScope(writer, lib.FST_ST_VCD_MODULE, name.encode(), ffi.NULL)
                case ["$upscope", "$end"]:
                    lib.fstWriterSetUpscope(writer)
                case ["$var", _, bits, code, *name, "$end"]:
                    same_as, _ = signals.get(code, (0, 0))
                    handle = lib.fstWriterCreateVar(
                        writer, lib.FST_VT_VCD_WIRE, lib.FST_VD_IMPLICIT, int(bits), " ".join(name).encode(), same_as
                    )
                    signals.setdefault(code, (handle, int(bits)))
                case [time] if time.startswith("#"):
                    lib.fstWriterEmitTimeChange(writer, int(time[1:]))
                case [value, code] if value.startswith("b"):
                    handle, width = signals[code]
                    lib.fstWriterEmitValueChange(writer, handle, value[1:].rjust(width, "0").encode())
                case [change] if change[0] in "01xz":
                    lib.fstWriterEmitValueChange(writer, signals[change[1:]][0], change[:1].encode())
    lib.fstWriterClose(writer)
    vcd.unlink()
    return fst
