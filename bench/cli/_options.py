"""Options that several commands share, and types of options."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bench.cli import _complete

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite


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


def suite_options(function: _Function) -> _Function:
    """Decorate a command with all options of a suite, in this order."""
    for option in reversed(_SUITE_OPTIONS):
        function = option(function)
    return function


def options_named(*names: str) -> Callable[[_Function], _Function]:
    """Decorate a command with the suite options of these names, in the order of suite_options."""

    def decorate(function: _Function) -> _Function:
        every: list[click.Parameter] = vars(suite_options(lambda: None))["__click_params__"]
        kept = vars(function).setdefault("__click_params__", [])
        kept += [parameter for parameter in every if parameter.name in names]
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


suite_argument = click.argument(
    "suite", metavar="[SUITE | -- COMMAND [ARG]...]", required=False, shell_complete=_complete.suites
)


class SuiteOrCommand(GroupedCommand):
    """Its argument is a suite, or after `--` a command, whose own options are not parsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_complete.AFTER_DASHES] = "--" in args
        if "--" in args:
            at = args.index("--")
            before, words = args[:at], args[at + 1 :]
        else:
            words = self._words_of_a_program(ctx, args)
            before = args[: len(args) - len(words)]
        left = super().parse_args(ctx, before)
        ctx.params["words"] = tuple(words)
        return left

    def _words_of_a_program(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words of the command, if the first argument that is not an option is a program and not a suite."""
        from bench.suite.find import is_suite

        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        values, others, _ = parser.parse_args(list(args))
        first = values.get("suite")
        if not isinstance(first, str) or is_suite(first) or shutil.which(first) is None:
            return []
        return [first, *others]


def check_suite_or_command(context: click.Context) -> None:
    """Raise InputError if a suite and a command are given, a script in place of a suite, or --quick, --case or --data
    of a suite with a command."""
    from bench.common.errors import InputError

    suite, words = context.params["suite"], context.params["words"]
    if suite is not None and words:
        raise InputError(
            f"the suite {suite} and the command {words[0]} are both given: leave one of them out"
        )
    if suite is not None and Path(suite).suffix in (".py", ".sh"):
        start = "bash" if suite.endswith(".sh") else "python"
        raise InputError(
            f"{suite} is a script: give the command that starts it: bench {context.info_name} -- {start} {suite}"
        )
    if words:
        refuse(context, _OF_A_SUITE, "only for a suite: leave it out, or name a suite")


_OF_A_SUITE = ("quick", "cases", "data_root", "resume", "width", "tflops")
"""Parameters that a command line with a command cannot have."""


def refuse(context: click.Context, names: Iterable[str], reason: str) -> None:
    """Raise InputError, with the reason and what to do, if the call has options of these names."""
    from bench.common.errors import InputError

    every = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    if useless := [every[name] for name in names if context.params.get(name) not in (None, False, ())]:
        raise InputError(f"{', '.join(useless)}: {reason}")


def resolve(suite: str, options: Mapping[str, Any]) -> ResolvedSuite:
    """The suite that these options select. Raises InputError if the suite or an option is wrong."""
    from bench.suite.resolve import load_suite
    from bench.suite.selection import Selection

    selecting = ("quick", "cases", "settings", "vary", "world", "repeats", "device")
    return load_suite(suite, Selection(**{key: options[key] for key in selecting if key in options}))


def suite_or_command(context: click.Context) -> ResolvedSuite:
    """The suite that the call selects, or one with the call's command as its only case. Raises InputError."""
    from bench.common.errors import InputError
    from bench.suite import resolve as suites
    from bench.suite.of_command import suite_of_command
    from bench.suite.selection import Selection

    check_suite_or_command(context)
    options, name = context.params, context.info_name
    if options["suite"] is not None:
        return resolve(options["suite"], options)
    if not options["words"]:
        raise InputError(
            f"there is nothing to {name}: name a suite, as in `bench {name} smoke --world 64`, or give a command "
            f"after two dashes, as in `bench {name} --world 64 -- python train.py`"
        )
    document = suite_of_command(options["words"], name=None, variables=(), options=options)
    selection = Selection(settings=options["settings"], vary=options["vary"])
    return suites.resolve(document.root, Path(f"bench {name}"), selection, name=document.name)


def folders_read(suite: str | None, data_root: str | None) -> list[str]:
    """Folders that a session reads; a container must bind them."""
    is_file = suite and ("/" in suite or Path(suite).suffix in (".yaml", ".yml"))
    return ([str(Path(suite).parent)] if suite and is_file else []) + ([data_root] if data_root else [])


class Finite(click.FloatRange):
    """FloatRange without nan and inf."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class _Percent(click.ParamType[float]):
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

timeout_option = click.option(
    "--timeout", "timeout_s", type=Finite(min=1, max=1e6), default=600.0, metavar="SECONDS",
    help="Time limit for each shadow.  [default: 600]",
)  # fmt: skip
