"""The command line: one file per command, each `command` parses, calls one library function and prints.

Commands are imported when they are called; `bench --help` imports their modules, which import only click.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import pkgutil
import sys

import click

import bench
from bench import lost_image
from bench.cli._said import say
from bench.container import container_kind
from bench.errors import OF_THE_MACHINE
from bench.launch.stop import ToldToStop
from bench.safe_path import protect_imports

_ORDER = "suite list show predict script doctor load sql summary report compare import export schema".split()  # noqa: SIM905

_ANALYSIS = ("altair", "duckdb", "polars", "scipy", "vl_convert")
"""What only loading, querying and reporting need: a compute node may do without."""


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        found = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
        return sorted(found, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click looks for the nearest name among commands that are imported already: none is
            names = self.list_commands(ctx)
            raise click.NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(bench.__version__, prog_name="bench")
def group() -> None:
    """How does my training scale, how sure is that, why does it stop, and what should I change?"""


def main() -> None:
    """Entry point. Exit codes: 0 well, 1 a run failed, 2 unusable input, 3 a certain regression, 130/143 stopped."""
    protect_imports()
    _open_closed_streams()
    try:
        with lost_image.awaiting_its_signal():
            code = group.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("bench: stopped", err=True)
        code = 130
    except ToldToStop as told:
        click.echo(f"bench: {told}", err=True)  # imports nothing: what mounts an image may be gone, too
        code = told.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        # The reader (`| head`) has enough; Python's own flush at exit would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except ModuleNotFoundError as error:
        if error.name not in _ANALYSIS:
            raise
        click.echo(f"bench: this command needs {error.name}: install scalebench[analysis]", err=True)
        code = 2
    except (ValueError, OSError) as error:
        # Ours say what to do (InputError and analysis's own carry exit_code); anything else is a defect: show it whole.
        exit_code = getattr(error, "exit_code", 2 if _by_environment(error) else None)
        if exit_code is None:
            raise
        say(f"bench: {error}", err=True)
        code = exit_code
    if isinstance(code, int) and code > 128:
        _leave_at_once(code)
    sys.exit(code if isinstance(code, int) else 0)


def _leave_at_once(code: int) -> None:
    """Stopped by a signal, wherever that came: taking modules apart, Python would complain of what DuckDB still holds.
    The signal may also have ended what mounts a container's image: then nothing more can be read."""
    if container_kind() != "apptainer":
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Where a shell closed them (`>&-`), Python has None: what would be printed goes nowhere instead."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the life of the process
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115


def _by_environment(error: Exception) -> bool:
    """A folder that may not be written, or a full disk: no defect, and the error names the path."""
    return isinstance(error, OSError) and error.errno in OF_THE_MACHINE
