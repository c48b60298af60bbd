"""The suite of a command line: named, or made of a command."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench.cli import _complete
from bench.cli._options import GroupedCommand, refuse

if TYPE_CHECKING:
    from bench.suite.models import ResolvedSuite

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
    from bench.command.options import start_of
    from bench.common.errors import InputError

    suite, words = context.params["suite"], context.params["words"]
    if suite is not None and words:
        raise InputError(
            f"the suite {suite} and the command {words[0]} are both given: leave one of them out"
        )
    if suite is not None and Path(suite).suffix in (".py", ".sh"):
        raise InputError(
            f"{suite} is a script: give the command that starts it: "
            f"bench {context.info_name} -- {start_of(suite)} {suite}"
        )
    if words:
        refuse(context, _OF_A_SUITE, "only for a suite: leave it out, or name a suite")


_OF_A_SUITE = ("quick", "cases", "data_root", "tflops")
"""Parameters that a command line with a command cannot have."""


def resolve(suite: str, options: Mapping[str, Any]) -> ResolvedSuite:
    """The suite that these options select. Raises InputError if the suite or an option is wrong."""
    from bench.suite.resolve import load_suite
    from bench.suite.selection import Selection

    selecting = ("quick", "cases", "settings", "vary", "world", "repeats", "device")
    return load_suite(suite, Selection(**{key: options[key] for key in selecting if key in options}))


def suite_or_command(context: click.Context) -> ResolvedSuite:
    """The suite that the call selects, or one with the call's command as its only case. Raises InputError."""
    from bench.command.suite import suite_of_command
    from bench.common.errors import InputError
    from bench.suite import resolve as suites
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
