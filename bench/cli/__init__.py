"""The command line. Each file is a command: it parses the options, calls one library function and prints.

The first line of a file, `bench NAME: What it does.`, is its line in `bench --help`, which imports none of them. Files
import only click at module level, so that errors of the command line are quick.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

import bench
from bench.cli._output import say
from bench.common import unreadable_image
from bench.common.errors import OF_THE_MACHINE, ToldToStop
from bench.common.paths import refuse_other_than_utf8
from bench.common.safe_path import protect_imports
from bench.machine.container import container_kind

_GROUPS = {
    "Run": ("run", "suite", "list", "show", "predict", "batch"),
    "Read": (
        "sessions",
        "summary",
        "findings",
        "losses",
        "slow-ranks",
        "compare",
        "history",
        "report",
        "sql",
    ),
    "Share": ("export", "import", "reference", "load"),
    "Set up": ("doctor", "schema"),
}
"""Heading of the help -> its commands, in the order of use. Others are below `Other commands`."""
_OTHERS = "Other commands"

_ANALYSIS = ("altair", "duckdb", "jinja2", "markupsafe", "polars", "pylatexenc", "scipy", "vl_convert")
"""Packages that only loading, querying and reporting need; a compute node may lack them."""


@functools.cache
def _names() -> tuple[str, ...]:
    """Names of the commands, in the order of the help."""
    stems = [path.stem for path in Path(__file__).parent.glob("[!_]*.py")]
    found = {stem.replace("_", "-") for stem in stems if stem.isidentifier()}  # not an editor's `.#load.py`
    known = [name for names in _GROUPS.values() for name in names if name in found]
    return (*known, *sorted(found.difference(known)))


def _purpose(name: str) -> str:
    """The purpose of a command, from the first line of its file."""
    with (Path(__file__).parent / f"{name.replace('-', '_')}.py").open(encoding="utf-8") as file:
        return file.readline().strip().strip('"').partition(": ")[2]


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [*_names()]  # `list` is a command here

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # click would import every command, here too
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=_purpose(name)) for name in names), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click would import every command to ask for its help
        left = self.list_commands(ctx)
        width = max(map(len, left))
        for heading, names in {**_GROUPS, _OTHERS: tuple(left)}.items():
            if shown := [name for name in names if name in left]:
                left = [name for name in left if name not in shown]
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(width), _purpose(name)) for name in shown])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click would search the nearest name among imported commands, and none is imported
        names = self.list_commands(ctx)
        if (
            not args[0].startswith("-")
            and self.get_command(ctx, args[0]) is None
            and not ctx.resilient_parsing
        ):
            from bench.common.nearest import did_you_mean

            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], names)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bench.__version__, prog_name="bench")
def group() -> None:
    """Measure how training scales, how certain that is, what limits it, and what to change."""


def main() -> NoReturn:
    """Entry point of `bench`."""
    _exit_at_once(run_command())


def run_command() -> int:
    """Run the command in sys.argv, and return the exit code: 0 success, 1 a run failed, 2 unusable input, 3 a certain
    regression, 4 unlike machines, 130/143 stopped. Raises the exception of a defect."""
    protect_imports()
    _open_closed_streams()
    try:
        for word in () if sys.argv[1:2] == ["import"] else sys.argv[1:]:  # which reads a file of any name
            refuse_other_than_utf8(word, "argument")
        with unreadable_image.awaiting_its_signal():
            code = group.main(prog_name="bench", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        click.echo("bench: stopped", err=True)
        code = 130
    except ToldToStop as told:
        click.echo(f"bench: {told}", err=True)  # imports nothing: the mount of the image may be gone, too
        code = told.exit_code
    except click.ClickException as error:
        say(f"error: {' '.join(_of_usage(error).splitlines())}", err=True)
        code = error.exit_code
    except BrokenPipeError:
        # the reader (`| head`) has exited; without this, Python's flush at exit would complain again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except ModuleNotFoundError as error:
        if error.name not in _ANALYSIS:
            raise
        click.echo(f"error: this command needs {error.name}: install scalebench[analysis]", err=True)
        code = 2
    except FileNotFoundError:
        if _has_current_folder():
            raise
        click.echo("error: the current folder was deleted: change to another one", err=True)
        code = 2
    except (ValueError, OSError) as error:
        # InputError and AnalysisError say what to do and have an exit_code; the traceback of a defect is shown
        by_environment = isinstance(error, OSError) and error.errno in OF_THE_MACHINE
        exit_code = getattr(error, "exit_code", 2 if by_environment else None)
        if exit_code is None:
            raise
        say(
            f"error: {_of_the_machine(error) if by_environment and isinstance(error, OSError) else error}",
            err=True,
        )
        code = exit_code
    return code if isinstance(code, int) else 0


def _has_current_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _of_usage(error: click.ClickException) -> str:
    """WHERE: what happened, and how to see what is allowed."""
    message = error.format_message().replace("\n\t", " ").strip()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return message
    ended = message if message.endswith((".", "?", "!")) else f"{message}."
    where = context.command_path
    return f"{where}: {ended[:1].lower()}{ended[1:]} `{where} --help` shows what it takes."


def _of_the_machine(error: OSError) -> str:
    if error.filename is None:
        return f"{error.strerror or error}: check where the output goes, its permissions and the free space"
    return f"{error.filename}: {error.strerror}: check the path, its permissions and the free space"


def _exit_at_once(code: int) -> NoReturn:
    """Exit without Python's teardown: freeing every module takes a tenth of a command's time, and after a signal it
    would complain about objects that DuckDB still holds."""
    was_stopped = code > 128
    if not (was_stopped and container_kind() == "apptainer"):  # the signal may have unmounted the image
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Replace streams that a shell closed (`>&-`), for which Python has None, by /dev/null."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
