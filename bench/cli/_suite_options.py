"""What is chosen of a suite, and where it reads and writes: the options that `suite`, `script` and `predict` share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite

_Function = TypeVar("_Function", bound=Callable[..., Any])

_CHOICE = (
    click.option("--quick", is_flag=True, help="Merge the suite's quick section over it."),
    click.option(
        "--case", "cases", metavar="GLOB", multiple=True,
        help="Only cases whose name matches; the name of a case with a matrix chooses all that it makes; repeatable.",
    ),
    click.option(
        "--set", "settings", metavar="KEY=VALUE", multiple=True, help="As in train.precision=bf16; repeatable."
    ),
    click.option("--world", metavar="N,...", help="World sizes instead of the cases' own: 1,2,4 or 2x4 or auto."),
    click.option("--repeats", type=click.IntRange(min=1), metavar="N", help="Exactly N repeats, not the suite's."),
    click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device instead of the suite's."),
    click.option("--ranks-per-node", type=click.IntRange(min=1), metavar="N", help="Slots per node, set by hand."),
    click.option("--oversubscribe", is_flag=True, help="Run world sizes beyond the slots; their rows get no verdict."),
    click.option(
        "--trace", is_flag=True,
        help="Keep each rank's profiled steps as trace.rankN.json.gz; 2 of them where the suite has none.",
    ),
    click.option(
        "--selfcheck/--no-selfcheck", default=None,
        help="Measure what measuring costs, by 100 further steps or more where the suite says so; or never.",
    ),
    click.option("--results", metavar="DIR", help="Results folder; else $BENCH_RESULTS, else ./results."),
    click.option("--data", "data_root", metavar="DIR", help="Folder that real data sets lie in."),
    click.option("--session", metavar="NAME", help="Name the session; resumes it where it exists."),
    click.option("--tag", "tags", metavar="T", multiple=True, help="Mark the session; repeatable."),
)  # fmt: skip


def suite_options(function: _Function) -> _Function:
    """Decorates a command with them, in this order."""
    for option in reversed(_CHOICE):
        function = option(function)
    return function


def options_named(*names: str) -> Callable[[_Function], _Function]:
    """Decorates a command with some of them, in the order of all."""

    def decorate(function: _Function) -> _Function:
        every: list[click.Parameter] = vars(suite_options(lambda: None))["__click_params__"]
        kept = vars(function).setdefault("__click_params__", [])
        kept += [parameter for parameter in every if parameter.name in names]
        return function

    return decorate


def given(context: click.Context, *, without: Collection[str] = ()) -> list[str]:
    """The arguments that the command was called with, but for the parameters of those names."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        words += [
            word for one in (value if parameter.multiple else [value]) for word in _words(parameter, one)
        ]
    return words


def _words(parameter: click.Parameter, value: Any) -> list[str]:
    if not isinstance(parameter, click.Option):
        return [str(value)]
    if parameter.is_flag:
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    return [parameter.opts[0], str(value)]


def resolve(suite: str, options: Mapping[str, Any]) -> ResolvedSuite:
    """The suite that these options choose. Raises InputError where it, or one of them, is wrong."""
    from bench.suite.resolve import Selection, load_suite

    chosen = ("quick", "cases", "settings", "world", "repeats", "device")
    return load_suite(suite, Selection(**{key: options[key] for key in chosen if key in options}))


def folders_read(suite: str | None, data_root: str | None) -> list[str]:
    """Folders that a session reads: a container is to see them."""
    own = (
        [str(Path(suite).parent)]
        if suite and ("/" in suite or Path(suite).suffix in (".yaml", ".yml"))
        else []
    )
    return own + ([data_root] if data_root else [])
