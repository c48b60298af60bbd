"""A suite file and the command line's wishes become a checked, frozen suite.

In this order: quick over the suite; the suite's sections under each case's own; --set; matrix; the checks; and
what --case, --world, --repeats and --device leave.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.errors import InputError
from bench.suite import settings as setting
from bench.suite.check import MOST_PROBLEMS, check, place, refuse
from bench.suite.find import find
from bench.suite.matrix import combinations
from bench.suite.merge import get, merge
from bench.suite.models import Case, ResolvedSuite, SuiteFile
from bench.suite.narrow import narrow
from bench.suite.nearest import near_or_all
from bench.suite.notes import notes
from bench.suite.quick import as_written
from bench.suite.rules import broken_rules
from bench.suite.secrets import told_secrets
from bench.suite.shorthand import written_out
from bench.suite.source import Node, read


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What the command line asks of a suite."""

    quick: bool = False
    settings: tuple[str, ...] = ()
    """KEY=VALUE of every --set."""
    cases: tuple[str, ...] = ()
    """Globs; none takes every case."""
    world: str | None = None
    """Comma-separated world sizes instead of the cases' own."""
    repeats: int | None = None
    device: str | None = None


_MOST_CASES = 5_000
_MOST_VALUES = 1_000_000
"""Of all cases, each with what it has from the suite."""
_ENOUGH_PROBLEMS = 10 * MOST_PROBLEMS
"""Beyond which no further case is looked at: many cases have the same."""

_EVERYTHING = Selection()


def load_suite(name_or_file: str, selection: Selection = _EVERYTHING) -> ResolvedSuite:
    """The suite that NAME or FILE means, resolved and checked. Raises InputError with every problem and its place."""
    path = find(name_or_file)
    root = read(path)
    suite = narrow(resolve(root, path, selection), selection)
    return dataclasses.replace(suite, notes=notes(root, suite, setting.settings_of(selection.settings)))


def resolve(root: Node, path: Path, selection: Selection = _EVERYTHING) -> ResolvedSuite:
    """The whole suite. Its quick section is checked whether it is asked for or not."""
    chosen = setting.settings_of(selection.settings)
    shape, problems = check(SuiteFile, root)
    refuse(problems, str(path))
    assert shape is not None
    written = as_written(root, selection.quick)
    refuse(setting.unknown_keys(chosen, written), str(path))
    cases, problems, places = _cases(written, chosen)
    _, others, _ = _cases(as_written(root, not selection.quick), [])
    refuse([*problems, *others], str(path))
    title = setting.for_suite(chosen, "title", get(written, "title"))
    why = setting.for_suite(chosen, "why", get(written, "why"))
    return ResolvedSuite(
        name=path.stem,
        title=str(title.value) if title else "",
        why=str(why.value).strip() if why else "",
        quick=selection.quick,
        cases=tuple(cases),
        places={
            (case.name, key): place(places[case.name], (key,)).where
            for case in cases
            for key in ("world", "global_batch", "batch_per_rank")
        },
    )


def _cases(suite: Node, settings: list[setting.Setting]) -> tuple[list[Case], list[str], dict[str, Node]]:
    """Every case with its sections, settings and combinations, checked; what is wrong; and where each is written."""
    problems: list[str] = []
    broken: dict[tuple[str, str], list[str]] = {}
    cases: list[Case] = []
    places: dict[str, Node] = {}
    for node in _combined(suite, settings):
        case, wrong = check(Case, node)
        problems += wrong
        if len(problems) >= _ENOUGH_PROBLEMS:
            break
        if case is not None:
            cases.append(case)
            places[case.name] = node
            for at, text in (*broken_rules(case), *told_secrets(case)):
                broken.setdefault((place(node, at).where, text), []).append(case.name)
    problems += [_broken(where, text, names) for (where, text), names in broken.items()]
    return cases, problems or _baselines(cases, places), places


def _combined(suite: Node, settings: list[setting.Setting]) -> Iterator[Node]:
    """Every case, written out. Raises InputError before there are more than memory should hold."""
    made, values = 0, 0
    for part in suite.value["cases"].value:
        whole = setting.for_case(settings, written_out(_with_sections(suite, part)))
        nodes = combinations(whole)
        made, values = made + len(nodes), values + len(nodes) * nodes[0].size
        if made > _MOST_CASES or values > _MOST_VALUES:
            raise InputError(
                f"{part.where}: up to here there are {made:,} cases of {values:,} values, with what the suite says for "
                f"all: {_MOST_CASES:,} and {_MOST_VALUES:,} at most"
            )
        yield from map(written_out, nodes)


def _broken(where: str, text: str, names: list[str]) -> str:
    """What the suite or --set says for several cases is wrong once, and for none of them in particular."""
    return f"{where}: {text}" if len(names) > 1 else f"{where}: case {names[0]}: {text}"


def _with_sections(suite: Node, case: Node) -> Node:
    """The case's own sections laid over the suite's."""
    sections = {key: merge(get(suite, key), get(case, key)) for key in setting.SECTIONS}
    return Node({**case.value, **{key: item for key, item in sections.items() if item}}, case.where)


def _baselines(cases: list[Case], places: dict[str, Node]) -> list[str]:
    names = [case.name for case in cases]
    return [
        f"{place(places[case.name], ('baseline',)).where}: case {case.name}: its baseline {case.baseline!r} "
        f"names no case{near_or_all(case.baseline, names)}"
        for case in cases
        if case.baseline is not None and case.baseline not in names
    ]
