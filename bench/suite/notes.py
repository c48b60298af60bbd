"""Notes for stderr: settings of a suite or command line that are correct but may surprise."""

from __future__ import annotations

from collections.abc import Iterator

from bench.suite.models import Case
from bench.suite.overrides import SECTIONS, Setting
from bench.suite.yaml_nodes import Node

_MOST_NAMED = 3


def notes(written: Node, cases: tuple[Case, ...], settings: list[Setting]) -> Iterator[str]:
    """A line for each --set of the whole suite that replaces a selected case's own value, often on purpose."""
    selected = {case.name.partition("~")[0] for case in cases}
    by_name = {case.value["name"].value: case for case in written.value["cases"].value}
    names = [name for name in by_name if name in selected]
    for setting in settings:
        if setting.path[0] not in SECTIONS or isinstance(setting.value.value, dict):
            continue
        replaced = [
            name
            for name in names
            if (own := by_name[name].get(*setting.path)) is not None
            and own.without_places() != setting.value.without_places()
        ]
        if not replaced:
            continue
        more = f" and {len(replaced) - _MOST_NAMED} more" if len(replaced) > _MOST_NAMED else ""
        other = next((name for name in names if name not in replaced), "NAME")
        yield (
            f"{setting.option} also replaces the value of case{'s' * (len(replaced) > 1)} "
            f"{', '.join(replaced[:_MOST_NAMED])}{more}; for one case alone: "
            f"--set cases.{other}.{setting.option.removeprefix('--set ')}"
        )
