"""`python -m thalweg` is the command `thalweg`."""

from __future__ import annotations

import sys

from thalweg.cli import main

if __name__ == "__main__":
    sys.exit(main())
