"""Every command of `bench` with its arguments and options, from click."""

from __future__ import annotations

import inspect

import click

from bench.cli import group
from ci.documents.markdown import code, table


def all_commands() -> str:
    context = click.Context(group, info_name="bench")
    return "\n".join(_command(name, context) for name in group.list_commands(context))


def undescribed() -> list[str]:
    """Options without a help text, and commands without one."""
    context = click.Context(group, info_name="bench")
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found += [] if command.help else [f"bench {name}"]
        found += [f"bench {name} {option.opts[0]}" for option in _options(command) if not option.help]
    return found


def _command(name: str, context: click.Context) -> str:
    command = group.get_command(context, name)
    assert command is not None
    usage = command.get_usage(click.Context(command, info_name=name, parent=context))
    usage = " ".join(usage.removeprefix("Usage: ").split())
    help_text = inspect.cleandoc(command.help or "")
    lines = [f"## {name}", "", "```text", usage, "```", ""]
    lines += [help_text, ""]
    options = _options(command)
    rows = [(_names(option), _takes(option), *_default_and_meaning(option)) for option in options]
    return "\n".join([*lines, table(("option", "value", "default", "meaning"), rows) if rows else ""])


def _options(command: click.Command) -> list[click.Option]:
    return [
        parameter
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]


def _names(option: click.Option) -> str:
    return ", ".join(code(name) for name in [*option.opts, *option.secondary_opts])


def _takes(option: click.Option) -> str:
    if option.is_flag:
        return ""
    value = option.make_metavar(click.Context(click.Command("any"))).strip("[]")
    if isinstance(option.type, click.IntRange):
        value = option.metavar or "N"
        return f"{code(value)}, {option.type.min} or more"
    return code(value)


def _default_and_meaning(option: click.Option) -> tuple[str, str]:
    """The option's default and meaning; defaults that click does not know are at the end of the help text."""
    meaning, written, default = (option.help or "").partition("  [default: ")
    return (default.removesuffix("]") if written else _default(option)), meaning


def _default(option: click.Option) -> str:
    if (
        option.is_flag
        or option.multiple
        or option.default is None
        or not isinstance(option.default, str | int | float)
    ):
        return "required" if option.required else ""
    return code(str(option.default))
