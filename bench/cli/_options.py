"""Options that several commands share, and types of options."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bench.cli import _complete

_Function = TypeVar("_Function", bound=Callable[..., Any])


class GroupedCommand(click.Command):
    """A command whose help shows its options below several headings."""

    option_groups: Mapping[str, Collection[str]] = {}
    """Heading -> names of its parameters; other options are below `Options`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        left = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        width = min(max(len(option) for option, _ in left.values()), _WIDEST_OPTION)
        for heading, names in {**self.option_groups, "Options": tuple(left)}.items():
            if shown := [left.pop(name) for name in names if name in left]:
                with formatter.section(heading):
                    # of equal width, so that the texts of all groups begin in one column
                    formatter.write_dl(
                        [(option.ljust(width), text) for option, text in shown], _WIDEST_OPTION
                    )


_WIDEST_OPTION = 24
"""The text of an option with more characters begins on the next line."""

results_option = click.option(
    "--results", metavar="DIR", help="Results folder.  [default: $BENCH_RESULTS, then ./results]"
)


def format_option(*forms: str, note: str = "") -> Callable[[_Function], _Function]:
    """Decorate a command with --format, the parameter `form`, and with --json for --format json. The first form is the
    default. `note` follows the help."""

    def chosen(context: click.Context, _parameter: click.Parameter, as_json: bool) -> None:
        if as_json:
            context.params["form"] = "json"

    def decorate(function: _Function) -> _Function:
        short = click.option(
            "--json",
            is_flag=True,
            hidden=True,
            expose_value=False,
            callback=chosen,
            help="Same as --format json.",
        )
        form = click.option(
            "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, is_eager=True,
            help=f"Output format; --json is short for --format json.{note}",
        )  # fmt: skip
        return form(short(function))

    return decorate


class Finite(click.FloatRange):
    """FloatRange without nan and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


_SUITE_OPTIONS = (
    click.option("--quick", is_flag=True, help="Merge the suite's section `quick` over the suite."),
    click.option(
        "--case", "cases", metavar="GLOB", multiple=True,
        help="Only cases whose name matches; repeatable. The name of a case with a matrix selects all combinations.",
    ),
    click.option(
        "--set", "settings", metavar="KEY=VALUE", multiple=True,
        help="Override a key of the suite, as in train.precision=bf16; repeatable.",
    ),
    click.option(
        "--vary", metavar="KEY=V,V", multiple=True,
        help="Run every case with each of these values in every round, as in train.precision=fp32,bf16;"
        " repeatable.",
    ),
    click.option(
        "--world", metavar="N,...",
        help="Replace the cases' world sizes: 1,2,4, or 2x4 (nodes x ranks of each), or auto.",
    ),
    click.option(
        "--repeats", type=click.IntRange(min=1), metavar="N", help="Run exactly N repeats.  [default: the suite's]"
    ),
    click.option(
        "--order", "run_order", type=click.Choice(["random", "fixed"]),
        help="Order of the runs in each round of repeats: drawn from the session's id, or as in the suite."
        "  [default: random]",
    ),
    click.option(
        "--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device to run on.  [default: the suite's]"
    ),
    click.option(
        "--ranks-per-node", type=click.IntRange(min=1), metavar="N",
        help="Slots of a node: how many ranks fit.  [default: its GPUs, else its CPUs / threads]",
    ),
    click.option(
        "--oversubscribe", is_flag=True, help="Also run world sizes beyond the slots; their rows get no verdict."
    ),
    click.option(
        "--trace", is_flag=True,
        help="Keep each rank's profiled steps as trace.rankN.json.gz; profiles 2 steps if the suite sets none.",
    ),
    click.option(
        "--selfcheck/--no-selfcheck", default=None,
        help="Measure recorder overhead with 100 or more extra steps, or never.  [default: as the suite says]",
    ),
    results_option,
    click.option("--data", "data_root", metavar="DIR", help="Folder with real data sets."),
    click.option("--session", metavar="NAME", help="Name of the session; if it exists, it is resumed."),
    click.option("--tag", "tags", metavar="T", multiple=True, help="Add a tag to the session; repeatable."),
)  # fmt: skip

_SESSION_OPTIONS = (
    click.option(
        "--warmup", type=click.IntRange(min=1), metavar="N",
        help="Steps before the measured ones.  [default: the suite's]",
    ),
    click.option(
        "--steps", type=click.IntRange(min=1), metavar="N", help="Measured steps.  [default: the suite's]"
    ),
    click.option(
        "--timeout", "timeout_s", type=Finite(min=1), metavar="SECONDS",
        help="Longest time of one run.  [default: the suite's]",
    ),
    click.option(
        "--reserve", type=Finite(min=0), metavar="SECONDS",
        help="Skip runs that would end less than SECONDS before the Slurm allocation does.  [default: 30]",
    ),
    click.option(
        "--resume", metavar="SESSION", shell_complete=_complete.sessions,
        help="Finish an earlier session, named as in `bench summary`, such as @latest; completed runs"
        " are not repeated.",
    ),
    click.option("--no-load", is_flag=True, help="Do not load the session into the database."),
    click.option(
        "--dry-run", is_flag=True,
        help="Print the plan with its timeouts and, if it was measured here before, its time; run nothing.",
    ),
)  # fmt: skip
MEASURE = ("warmup", "steps", "timeout_s")
"""Options named as the keys of a suite's section `measure` that they set."""
SESSION_GROUPS = {
    "Where it runs": (
        *("device", "ranks_per_node", "oversubscribe", "launcher", "image", "nodes", "gpus_per_node", "srun"),
    ),
    "How it is measured": (*MEASURE, "trace", "selfcheck", "reserve"),
    "Results": ("results", "session", "tags", "no_load", "form", "json"),
}
"""Headings of the help of commands that measure -> parameters."""


def python_option(function: _Function) -> _Function:
    """Decorate a command with --python."""
    return click.option(
        "--python",
        metavar="PATH",
        callback=_absolute,
        help="Python of the ranks, in an environment with torch. Nothing is installed there.  [default: this one]",
    )(function)


def _absolute(_context: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    """Ranks start in another folder. Links stay, because a virtual environment is known by them. A bare name is
    searched on PATH."""
    if path is None:
        return None
    if not path:
        raise click.BadParameter("it is empty: give the path of a Python that has torch")
    found = path if "/" in path else shutil.which(path) or path
    return os.path.abspath(found)  # noqa: PTH100 - resolve() follows links


def suite_options(function: _Function) -> _Function:
    """Decorate a command with all options of a suite, in this order."""
    return _decorated(function, _SUITE_OPTIONS)


def session_options(function: _Function) -> _Function:
    """Decorate a command that measures a session with the options of every session."""
    return _decorated(function, _SESSION_OPTIONS)


def _decorated(function: _Function, options: Sequence[Callable[[_Function], _Function]]) -> _Function:
    for option in reversed(options):
        function = option(function)
    return function


def options_named(*names: str, **helps: str) -> Callable[[_Function], _Function]:
    """Decorate a command with the options of these names, in the order of suite_options and session_options. `helps`:
    texts of the command's own."""

    def decorate(function: _Function) -> _Function:
        every: list[click.Option] = vars(suite_options(session_options(lambda: None)))["__click_params__"]
        kept = [option for option in every if option.name in names]
        for option in kept:
            option.help = helps.get(option.name or "", option.help)
        vars(function).setdefault("__click_params__", []).extend(kept)
        return function

    return decorate


def given(context: click.Context, *, without: Collection[str] = ()) -> list[str]:
    """The arguments that the command was called with, except the parameters of these names."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if not parameter.expose_value:  # --json
            words.append(parameter.opts[0])
            continue
        value = context.params[name]
        for one in value if parameter.multiple else [value]:
            if not isinstance(parameter, click.Option):
                words.append(str(one))
            elif parameter.is_flag:
                words.append(parameter.opts[0] if one else parameter.secondary_opts[0])
            else:
                words += [parameter.opts[0], str(one)]
    return words


def refuse(context: click.Context, names: Iterable[str], reason: str) -> None:
    """Raise InputError, with the reason and what to do, if the call has options of these names."""
    from bench.common.errors import InputError

    every = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    if useless := [every[name] for name in names if context.params.get(name) not in (None, False, ())]:
        raise InputError(f"{', '.join(useless)}: {reason}")


class _Percent(click.ParamType):  # type: ignore[type-arg] # click 8.1 has none
    """A fraction from 0 to below 1, written as `5%` or 0.05."""

    name = "percent"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", str(value))
        if match is None:
            self.fail(f"{value!r} is not a share: write 5% or 0.05", param, ctx)
        fraction = float(match[1]) / (100 if match[2] else 1)
        if fraction >= 1:
            self.fail(
                f"{value!r} is {100 * fraction:g} %: write a share below 100 %, as 5% or 0.05", param, ctx
            )
        return fraction


PERCENT = _Percent()
