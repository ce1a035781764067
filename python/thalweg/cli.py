# SPDX-License-Identifier: Apache-2.0
"""The command `thalweg`: dispatches to subcommands and maps errors to one-line messages and exit codes.

Exit codes: 0 success, 1 a check failed, 2 bad input, 3 the fabric stopped (deadlock, time-out or hardware fault), 128 +
n terminated by signal n. `thalweg run`, `thalweg jobs` and `thalweg accl run` return the program's own status, 124 if
the fabric stopped, and 125 for bad input.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, shell_complete

from thalweg.errors import InputError, ThalwegError, one_line
from thalweg.launch import ending

COMMANDS = {
    "run": "",
    "jobs": "",
    "attach": "",
    "bench": "Measure one operation on a cluster over message sizes and ranks.",
    "cluster": "List, show, check and draw clusters.",
    "route": "Compute routes and prove that they cannot deadlock.",
    "reproduce": "Compare published with measured numbers.",
    "tune": "",
    "rtl": "Lint, test, prove, synthesize and export the hardware.",
}
"""Commands in the order of the help, with one line of help each; empty where each system has its own command and help."""


def _help(name: str) -> str:
    from thalweg.commands.per_system import ClusterCommand, commands

    return COMMANDS.get(name) or ClusterCommand(name, commands).help or ""


class LazyGroup(click.Group):
    """Commands shared by all systems and commands of each system, each imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from thalweg.commands.per_system import commands, names

        return list(dict.fromkeys([*COMMANDS, *(name for name in names(commands) if " " not in name)]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if COMMANDS.get(cmd_name):
            command: click.Command = importlib.import_module(f"thalweg.commands.{cmd_name}").command
            return command
        from thalweg.commands.per_system import ClusterCommand, commands, names

        return ClusterCommand(cmd_name, commands) if cmd_name in names(commands) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(name, help=_help(name)) for name in self.list_commands(ctx)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [item for item in commands if item.value.startswith(incomplete)] + options

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            raise click.exceptions.NoSuchCommand(args[0], possibilities=known, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, _help(name)) for name in self.list_commands(ctx)]
        if commands:
            with formatter.section("Commands"):
                formatter.write_dl(commands)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from thalweg.commands.output import version

        click.echo(f"thalweg {known}" if (known := version()) else "thalweg, not installed: run from its sources")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def thalweg() -> None:
    """An open communication system for FPGA clusters: simulate it, plan it, run MPI programs on it."""


def _complain(text: str) -> None:
    print(f"thalweg: {one_line(text)}", file=sys.stderr, flush=True)


def _usage(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    where = ctx.command_path.removeprefix("thalweg").strip() if ctx else ""
    text = error.format_message().rstrip(".")
    return f"{where}: {text}" if where else text


def _invoke(arguments: list[str], in_run: bool) -> int:
    bad_input = InputError.run_exit_code if in_run else InputError.exit_code
    try:
        with thalweg.make_context("thalweg", list(arguments), obj=arguments) as ctx:
            thalweg.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as wanted:
        click.echo(wanted.ctx.get_help() if wanted.ctx else "")
    except click.ClickException as error:
        _complain(_usage(error))
        return bad_input
    except ThalwegError as error:
        _complain(str(error))
        return error.run_exit_code if in_run else error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 128 + signal.SIGINT
    except BrokenPipeError:  # the reader is gone
        _discard_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        _discard_stdout()
        return bad_input
    return 0


def _discard_stdout() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Replaces standard streams that were closed at the start (`>&-`) by /dev/null, so that no file opened later gets
    their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # open() returns the lowest free descriptor
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line `arguments` and returns the exit code.

    Without `arguments`, takes those of the process, and installs signal handlers that end it.
    """
    _open_streams()  # before any file is opened
    if arguments is None:
        ending.install()
    if instruction := os.environ.get("_THALWEG_COMPLETE"):
        return shell_complete(thalweg, {}, "thalweg", "_THALWEG_COMPLETE", instruction)
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if not word.startswith("-")]
    return _invoke(given, in_run=words[:1] in (["run"], ["jobs"]) or words[:2] == ["accl", "run"])
