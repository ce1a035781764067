# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi cmake`: prints the location of the CMake module."""

from __future__ import annotations

import click

from thalweg.resources import resource


@click.command("cmake")
def command() -> None:
    """Print the path of ThalwegSmi.cmake.

    Its function thalweg_smi_target extracts a program's operations, generates the files of a rank, and routes the
    cluster. In a CMakeLists.txt: include(PATH).
    """
    click.echo(resource("runtime/smi/cmake/ThalwegSmi.cmake"))
