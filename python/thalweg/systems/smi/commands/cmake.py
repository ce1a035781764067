# SPDX-License-Identifier: Apache-2.0
"""`thalweg smi cmake`: where the CMake function is."""

from __future__ import annotations

import click

from thalweg.resources import resource


@click.command("cmake")
def command() -> None:
    """Print the path of ThalwegSmi.cmake, whose function thalweg_smi_target finds a program's operations, makes what they need of a rank,
    and routes the cluster.

    In a CMakeLists.txt: include(PATH).
    """
    click.echo(resource("runtime/smi/cmake/ThalwegSmi.cmake"))
