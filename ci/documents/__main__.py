"""The program behind ci/docs, which describes its options."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from bench.suite.json_schema import suite_schema
from ci.documents import charts, commands, rules, shipped, sql_schema, suite_keys
from ci.documents.markdown import REGION, written

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SUITE_SCHEMA = ROOT / "suites/suite.schema.json"
MAKERS: dict[str, Callable[[], str]] = {
    "suite-keys": suite_keys.suite,
    **{f"{name}-keys": partial(suite_keys.section, name) for name in suite_keys.SECTIONS},
    "workloads": partial(suite_keys.chosen, "workload"),
    "strategies": partial(suite_keys.chosen, "strategy"),
    "shipped-suites": shipped.suites,
    "example-suites": shipped.examples,
    "shared-columns": sql_schema.shared_columns,
    "derived": sql_schema.derived,
    "tables": sql_schema.tables,
    "views": sql_schema.views,
    "macros": sql_schema.macros,
    "commands": commands.all_commands,
    "charts": charts.questions,
    "rules": rules.rules,
}


def stale_pages() -> dict[Path, str]:
    """Pages, and the suites' JSON Schema, that are out of date, with their new text."""
    found = {path: written(path.read_text(encoding="utf-8"), MAKERS) for path in sorted(DOCS.rglob("*.md"))}
    found[SUITE_SCHEMA] = json.dumps(suite_schema(), indent=1, ensure_ascii=False) + "\n"
    return {path: text for path, text in found.items() if path.read_text(encoding="utf-8") != text}


def missing_regions() -> list[str]:
    """Generated parts that no page has a region for, for example after a page was emptied."""
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]
    return sorted(MAKERS.keys() - {name for page in pages for name, _ in REGION.findall(page)})


@click.command()
@click.option("--check", is_flag=True)
@click.option("--answers", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--picture", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--site", type=click.Path(path_type=Path, file_okay=False))
def main(check: bool, answers: Path | None, picture: Path | None, site: Path | None) -> None:
    """Write the pages of docs/ that are made from the code."""
    if answers is not None:
        from ci.documents.answers import write_answers

        write_answers(DOCS / "sql.md", answers)
    elif picture is not None:
        from ci.documents.picture import take

        take(picture, DOCS / "report.png")
    elif site is not None:
        from ci.documents.site import build_site

        build_site(DOCS / "site/mkdocs.yml", site)
    else:
        _write(stale_pages(), check)


def _write(stale: dict[Path, str], check: bool) -> None:
    for path, text in stale.items():
        name = path.relative_to(ROOT)
        print(f"{name} is out of date" if check else name)
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print("to update them, run ci/docs")
    missing = missing_regions()
    for name in missing:
        print(f"no page of docs/ has the region `written by ci/docs: {name}`: restore it by hand")
    if missing or (check and stale):
        sys.exit(1)


if __name__ == "__main__":
    main()
