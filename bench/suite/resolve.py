"""Read a suite: find the file, read its YAML, merge quick, sections and --set, expand each matrix, check, and select.

The result is complete and frozen: every default is filled in, and nothing is checked a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.common.errors import InputError
from bench.common.nearest import near_or_all
from bench.suite.check import WORDED_PROBLEMS, check, refuse
from bench.suite.find import find
from bench.suite.merge import merge, suite_as_written
from bench.suite.models import Case, ResolvedSuite, SuiteFile
from bench.suite.notes import notes
from bench.suite.overrides import (
    SECTIONS,
    Setting,
    for_case,
    for_suite,
    parse_settings,
    parse_vary,
    unknown_keys,
    variants,
)
from bench.suite.rules import broken_rules, secrets
from bench.suite.selection import Selection, select
from bench.suite.shorthand import with_data_source, written_out
from bench.suite.yaml_nodes import Node, read

_MOST_CASES = 5_000
_MOST_VALUES = 1_000_000
"""In all cases together, each with the suite's values."""
_FOUND_PROBLEMS = 10 * WORDED_PROBLEMS
"""After these no further case is checked: many cases share a problem."""
_EVERYTHING = Selection()


def load_suite(name_or_file: str, selection: Selection = _EVERYTHING) -> ResolvedSuite:
    """The suite NAME or FILE, complete and checked. Raises InputError with every problem and its place."""
    path = find(name_or_file)
    return resolve(read(path), path, selection)


def resolve(
    root: Node, path: Path, selection: Selection = _EVERYTHING, name: str | None = None
) -> ResolvedSuite:
    """The suite of a file's nodes; `name` null: the file's. Its quick section is checked with and without --quick."""
    settings, vary = parse_settings(selection.settings), parse_vary(selection.vary)
    root = with_data_source(root)
    refuse(check(SuiteFile, root)[1], str(path))
    written = suite_as_written(root, selection.quick)
    refuse(unknown_keys(settings, written), str(path))
    has_quick = root.get("quick") is not None
    cases, nodes, problems = _checked_cases(written, settings, vary)
    if has_quick or settings or vary is not None:
        problems += _checked_cases(suite_as_written(root, not selection.quick), [], None)[2]
    refuse(problems, str(path))
    selected = select(tuple(cases), selection)
    without_quick = [f"{path.stem} has no section `quick`: with --quick it is run whole"]
    return ResolvedSuite(
        name=name or path.stem,
        title=for_suite(settings, "title", written),
        why=for_suite(settings, "why", written).strip(),
        quick=selection.quick,
        cases=selected,
        places={
            (case.name, key): nodes[case.name].at((key,)).where
            for case in selected
            for key in ("world", "global_batch", "batch_per_rank")
        },
        notes=(
            *(without_quick if selection.quick and not has_quick else []),
            *notes(written, selected, settings),
        ),
    )


def _checked_cases(
    suite: Node, settings: list[Setting], vary: Node | None
) -> tuple[list[Case], dict[str, Node], list[str]]:
    """Every case, its node by name, and the problems of all."""
    cases: list[Case] = []
    nodes: dict[str, Node] = {}
    problems: list[str] = []
    broken: dict[tuple[str, str], list[str]] = {}
    """Names of the cases that break a rule, by the place of the rule's key and the rule."""
    for node in _expanded_cases(suite, settings, vary):
        case, wrong = check(Case, node)
        problems += wrong
        if len(problems) >= _FOUND_PROBLEMS:
            break
        if case is not None:
            cases.append(case)
            nodes[case.name] = node
            for place, text in (*broken_rules(case), *secrets(case)):
                broken.setdefault((node.at(place).where, text), []).append(case.name)
    for (where, text), names in broken.items():
        # what the suite or --set gives several cases is wrong once, not in one case
        problems.append(f"{where}: {text}" if len(names) > 1 else f"{where}: case {names[0]}: {text}")
    if not problems:
        problems = [
            f"{nodes[case.name].at(('baseline',)).where}: case {case.name}: its baseline {case.baseline!r} "
            f"names no case{near_or_all(case.baseline, nodes)}"
            for case in cases
            if case.baseline is not None and case.baseline not in nodes
        ]
        asking = [case for case in cases if case.measure.until_efficiency is not None]
        if asking and not any(case.has_efficiency for case in asking):
            problems.append(
                f"{nodes[asking[0].name].at(('measure', 'until_efficiency')).where}: measure.until_efficiency has no "
                "effect: no case that has it has a second size or a baseline; give one of these, or until instead"
            )
    return cases, nodes, problems


def _expanded_cases(suite: Node, settings: list[Setting], vary: Node | None) -> Iterator[Node]:
    """Every case with the suite's sections, settings and one combination of its matrix, written out.

    Raises InputError before there are more than fit into memory."""
    made, values = 0, 0
    for own in suite.value["cases"].value:
        sections = {key: merge(suite.get(key), own.get(key)) for key in SECTIONS}
        case = Node({**own.value, **{key: item for key, item in sections.items() if item}}, own.where)
        combined = variants(for_case(settings, written_out(case)), vary, settings)
        made, values = made + len(combined), values + len(combined) * combined[0].size
        if made > _MOST_CASES or values > _MOST_VALUES:
            raise InputError(
                f"{own.where}: up to here there are {made:,} cases of {values:,} values, including those that the "
                f"suite sets for all: {_MOST_CASES:,} and {_MOST_VALUES:,} at most"
            )
        yield from map(written_out, combined)
