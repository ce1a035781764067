# SPDX-License-Identifier: Apache-2.0
"""Entry point of `thalweg` and `python -m thalweg`. Signals end it silently, also while modules are being imported."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if _number != signal.SIGHUP or signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, lambda number, _: os._exit(128 + number))


def main() -> NoReturn:
    """Runs the process's command line, and ends the process with the exit code."""
    from thalweg import cli
    from thalweg.launch import ending

    try:
        code = cli.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    ending.leave(code)


if __name__ == "__main__":
    main()
