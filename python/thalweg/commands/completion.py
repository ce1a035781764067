# SPDX-License-Identifier: Apache-2.0
"""Shell completion (`_THALWEG_COMPLETE`) of cluster names and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from thalweg.resources import resource


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes the names of presets, or files if no preset matches."""
    presets = sorted(file.stem for file in resource("clusters").glob("*.toml"))
    return [CompletionItem(name) for name in presets if name.startswith(incomplete)] or files(ctx, param, incomplete)
