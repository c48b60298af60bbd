"""The suite of `bench run`: one case, which runs the command of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.command.options import command_name, wrong_variable
from bench.common.errors import InputError
from bench.common.paths import refuse_other_than_utf8
from bench.records.vocabulary import COMMAND
from bench.suite.find import OF_A_NAME, SUITE_NAME
from bench.suite.models import world_text
from bench.suite.selection import world_sizes
from bench.suite.yaml_nodes import Node

DEFAULTS = {"world": "auto", "warmup": 5, "steps": 30, "repeats": 3, "timeout_s": 600.0, "scaling": "counted"}
"""Options of `bench run`, if the call does not give them."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A suite that no file holds."""

    name: str
    root: Node


def suite_of_command(
    words: Sequence[str], *, name: str | None, variables: Sequence[str], options: Mapping[str, Any]
) -> Document:
    """The suite of these options of `bench run`, by their names in bench/cli/run.py; missing or null: the default.

    Raises InputError."""
    options = {**options, **{key: value for key, value in DEFAULTS.items() if options.get(key) is None}}
    refuse_other_than_utf8(os.getcwd(), "current folder")  # noqa: PTH109
    if name is not None and not SUITE_NAME.fullmatch(name):
        raise InputError(f"--name {name!r}: give {OF_A_NAME}")
    chosen = name or command_name(tuple(words))
    workload: dict[str, Any] = {
        "name": (COMMAND, "COMMAND"),
        "command": ([str(word) for word in words], "COMMAND"),
        "env": (_variables(variables), "--env"),
    }
    for key in ("cwd", "isolate", "step_optimizer", "examples_per_step", "pauses"):
        if options.get(key) is not None:
            workload[key] = (options[key], _option(key))
    case: dict[str, Any] = {
        "name": (COMMAND, "COMMAND"),
        "world": ([world_text(size) for size in world_sizes(options["world"])], "--world"),
        "scaling": (options["scaling"], "--scaling"),
    }
    for key in ("batch_per_rank", "global_batch", "device"):
        if options.get(key) is not None:
            case[key] = (options[key], _option(key))
    measure = {key: (options[key], _option(key)) for key in ("warmup", "steps", "repeats")}
    measure["timeout_s"] = (options["timeout_s"], "--timeout")
    root = {
        "title": (f"Scaling of {chosen}", "COMMAND"),
        "workload": (workload, "COMMAND"),
        "measure": (measure, "COMMAND"),
        "cases": ([case], "COMMAND"),
    }
    return Document(name=chosen, root=_node((root, "COMMAND")))


def _variables(variables: Sequence[str]) -> dict[str, Any]:
    found = {}
    for text in variables:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"--env {text}: it takes NAME=VALUE, as in HF_HUB_OFFLINE=1")
        if reason := wrong_variable(name):
            raise InputError(f"--env {text}: {reason}")
        found[name] = (value, "--env")
    return found


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _node(placed: Any) -> Node:
    """Values, each with its place, as nodes."""
    value, where = placed if isinstance(placed, tuple) else (placed, "COMMAND")
    if isinstance(value, dict):
        value = {key: _node(item) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_node(item if isinstance(item, dict) else (item, where)) for item in value]
    return Node(value, where, where)
