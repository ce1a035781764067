# SPDX-License-Identifier: Apache-2.0
"""Reads waveforms back, as a viewer does."""

from __future__ import annotations

from pathlib import Path

import pylibfst
from pylibfst import ffi, lib


class Waves:
    """`end`: the last time in the file. `names`: of all signals, in their scopes."""

    def __init__(self, file: Path) -> None:
        self._reader = lib.fstReaderOpen(str(file).encode())
        assert self._reader != ffi.NULL
        self.end: int = lib.fstReaderGetEndTime(self._reader)
        self._signals = pylibfst.get_scopes_signals2(self._reader)[1].by_name
        self.names = list(self._signals)

    def value(self, name: str, time: int) -> str:
        """The signal's bits, highest first."""
        buffer = ffi.new("char[]", 1 << 16)
        handle = self._signals[name].handle
        return str(pylibfst.string(lib.fstReaderGetValueFromHandleAtTime(self._reader, time, handle, buffer)))
