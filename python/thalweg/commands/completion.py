# SPDX-License-Identifier: Apache-2.0
"""What a shell proposes for arguments, by click's own mechanism (`_THALWEG_COMPLETE`): names of clusters, and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from thalweg.resources import resource


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def clusters(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Presets, or where none begins so, files."""
    presets = sorted(file.stem for file in resource("clusters").glob("*.toml"))
    return [CompletionItem(name) for name in presets if name.startswith(incomplete)] or files(ctx, param, incomplete)
