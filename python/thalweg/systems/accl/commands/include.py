# SPDX-License-Identifier: Apache-2.0
"""`thalweg accl include`."""

from __future__ import annotations

import click

from thalweg.commands.output import print_line
from thalweg.resources import resource


@click.command()
def command() -> None:
    """Print the folder of the header accl.hpp: `g++ -std=c++17 -I $(thalweg accl include) program.cpp`."""
    print_line(str(resource("runtime/accl/include")))
