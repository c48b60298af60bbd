"""What is right about a suite and the command line's wishes, and may yet surprise: told on stderr."""

from __future__ import annotations

from collections.abc import Iterator

from bench.suite.merge import get
from bench.suite.models import ResolvedSuite
from bench.suite.quick import as_written
from bench.suite.settings import SECTIONS, Setting
from bench.suite.source import Node

_MOST_NAMED = 3


def notes(root: Node, suite: ResolvedSuite, settings: list[Setting]) -> tuple[str, ...]:
    """A line each; of cases, those that are left in `suite`."""
    return tuple(_notes(root, suite, settings))


def _notes(root: Node, suite: ResolvedSuite, settings: list[Setting]) -> Iterator[str]:
    if suite.quick and get(root, "quick") is None:
        yield f"{suite.name} has no section `quick`: with --quick it is run whole"
    left = {case.name.partition("~")[0] for case in suite.cases}
    cases = [
        case
        for case in as_written(root, suite.quick).value["cases"].value
        if case.value["name"].value in left
    ]
    for setting in settings:
        if setting.path[0] in SECTIONS and not isinstance(setting.value.value, dict):
            yield from _replaced(setting, cases)


def _replaced(setting: Setting, cases: list[Node]) -> Iterator[str]:
    """A setting for the whole suite where a case says something else for itself, often on purpose."""
    names = [str(case.value["name"].value) for case in cases]
    own = [name for name, case in zip(names, cases, strict=True) if _says_otherwise(case, setting)]
    if not own:
        return
    more = f" and {len(own) - _MOST_NAMED} more" if len(own) > _MOST_NAMED else ""
    other = next((name for name in names if name not in own), "NAME")
    yield (
        f"{setting.option} also replaces what case{'s' * (len(own) > 1)} {', '.join(own[:_MOST_NAMED])}{more} "
        f"say{'s' * (len(own) == 1)}; for one case alone: --set cases.{other}.{setting.option.removeprefix('--set ')}"
    )


def _says_otherwise(case: Node, setting: Setting) -> bool:
    found: Node | None = case
    for key in setting.path:
        found = get(found, key) if found is not None else None
    return found is not None and found.plain() != setting.value.plain()
