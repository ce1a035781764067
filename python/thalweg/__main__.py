"""The command `thalweg`, which is also `python -m thalweg`. Signals end it without a word while its modules are loaded, too."""

from __future__ import annotations

import os
import signal
import sys

for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, lambda number, _: os._exit(128 + number))


def main() -> int:
    """Runs the process's command line, and returns the exit code."""
    from thalweg import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
