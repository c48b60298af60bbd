"""The documents' promises hold: links, options, suites, pages written from the code, queries and answers."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner

import bench.cli
import ci.documents.__main__
from analysis.database import schema
from analysis.wording.headline import headline
from analysis.wording.numbers import estimate
from bench.records.run_outcome import RunOutcome
from bench.records.session_head import PlanEntry, SessionHead
from bench.suite.models import SuiteFile
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection
from benchmarks.coverage import empty_database
from ci.documents import commands, sql_schema, suite_keys
from ci.documents.__main__ import MAKERS, stale_pages
from ci.documents.markdown import REGION, unit
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import read_into

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [
        *sorted(ROOT.glob("*.md")),
        *sorted(ROOT.glob("docs/**/*.md")),
        *sorted(ROOT.glob("benchmarks/*.md")),
    ]
}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page: str) -> None:
    folder = (ROOT / page).parent
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(PAGES[page])):
        file, _, anchor = link.partition("#")
        target = (folder / file).resolve() if file else ROOT / page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in _anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def _anchors(text: str) -> set[str]:
    """Anchors that GitHub makes from headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_a_picture_two_commands_six_questions_and_six_links() -> None:
    text = PAGES["README.md"]
    commands = re.search(r"^```console\n(.*?)^```$", text, re.S | re.M)
    assert commands is not None
    assert commands[1].splitlines() == ["$ ci/quickstart", "$ ci/test"]
    assert re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text) == ["docs/report.png"]
    assert len(re.findall(r"^\| .*\? \| .*`bench ", text, re.M)) == 6
    assert len(re.findall(r"^- \[", text, re.M)) == 6


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), ["README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#:]+\.md)", PAGES[page])
        found = {((ROOT / page).parent / link).resolve().relative_to(ROOT).as_posix() for link in links}
        waiting += [link for link in found & PAGES.keys() if link not in reached]
    assert sorted(page for page in PAGES if page not in reached) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_that_is_shown_exists(page: str) -> None:
    context = click.Context(bench.cli.group)
    for name, rest in re.findall(
        r"(?:^\$ |`)(?:\.venv/bin/)?bench ([a-z]+(?:-[a-z]+)*)((?:[^`\n]|\\\n)*)", PAGES[page], re.M
    ):
        command = bench.cli.group.get_command(context, name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", re.split(" #| -- ", rest)[0])) <= known, name


def test_shellcheck_finds_nothing_in_example_scripts(require_program: Callable[[str], str]) -> None:
    scripts = sorted(ROOT.glob("docs/examples/**/*.sh"))
    assert scripts
    done = subprocess.run(
        [require_program("shellcheck"), *scripts], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_place_of_the_code_that_is_named_exists() -> None:
    named = [
        (page, place)
        for page, text in PAGES.items()
        for place in re.findall(
            r"`((?:bench|analysis|results\.duckdb-schema|suites|tests|ci|docs)/[\w./-]*)`", text
        )
    ]
    examples = {
        path
        for path, _ in re.findall(r"(?:[Ss]ave|as)[^`]*`([\w./-]+)`:\n\n```(\w+)", PAGES["CONTRIBUTING.md"])
    }
    assert [
        (page, place) for page, place in named if place not in examples and not (ROOT / place).exists()
    ] == []


def test_every_class_and_function_that_the_architecture_names_is_where_it_says() -> None:
    place = r"`((?:bench|analysis)/[\w/]+\.py)`, (`\w+(?:\.\w+)?`(?: and `\w+`)?)"
    named = re.findall(place, PAGES["docs/architecture.md"])
    assert len(named) > 40
    missing = []
    for file, names in named:
        known = set()
        for node in ast.parse((ROOT / file).read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                known.add(node.name)
            if isinstance(node, ast.ClassDef):
                known |= {
                    f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)
                }
        missing += [f"{file}: {name}" for name in re.findall(r"`([\w.]+)`", names) if name not in known]
    assert missing == []


def test_pages_that_are_written_from_the_code_are_what_the_code_says() -> None:
    assert [path.name for path in stale_pages()] == [], "update them: ci/docs"


def test_every_region_stands_on_one_page() -> None:
    regions = [name for text in PAGES.values() for name, _ in REGION.findall(text)]
    assert sorted(regions) == sorted(MAKERS)


@pytest.mark.parametrize("arguments", [["--check"], []])
def test_an_emptied_page_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(ci.documents.__main__, "DOCS", tmp_path)
    monkeypatch.setattr(ci.documents.__main__, "MAKERS", {"one": lambda: "text", "two": lambda: "text"})
    region = "<!-- written by ci/docs: {} -->\n\ntext\n\n<!-- end -->\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(region.format(name))
    assert CliRunner().invoke(ci.documents.__main__.main, arguments).exit_code == 0
    (tmp_path / "two.md").write_text("")
    found = CliRunner().invoke(ci.documents.__main__.main, arguments)
    assert (found.exit_code, "written by ci/docs: two`" in found.output) == (1, True)


def test_every_key_option_and_column_is_described() -> None:
    assert suite_keys.undescribed() == []
    assert commands.undescribed() == []
    assert sql_schema.undescribed() == []


def test_a_meaning_of_two_lines_is_shown_whole() -> None:
    page = PAGES["docs/schema.md"]
    scaling = page.partition("### scaling\n")[2].partition("\n### ")[0]
    rows = {line.split("|")[1].strip(): line for line in scaling.splitlines() if line.startswith("| `")}
    assert rows["`verdict`"].endswith("published, one figure; null: baseline, not scaled, not comparable |")


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        ("throughput_lo", "examples/s"), ("speedup_lo", ""), ("throughput_unit", ""),
        ("step_ms_log_variance", ""), ("step_ms_lo", "ms"), ("tokens_per_s_hi", "tokens/s"),
        ("bus_bytes_per_s", "bytes/s"), ("flops_per_s_per_device", "FLOP/s"), ("examples_per_j_lo", "examples/J"),
        ("j_per_example", "J"), ("time_per_epoch_s", "s"),
    ],
)  # fmt: skip
def test_a_columns_unit_follows_from_its_name(column: str, shown: str) -> None:
    assert unit(column) == shown


def test_every_key_table_and_view_has_its_place() -> None:
    for name in [*schema.tables(), *schema.derived(), *schema.views()]:
        assert f"### {name}\n" in PAGES["docs/schema.md"]
    for key in SuiteFile.model_fields:
        assert f"| `{key}` |" in PAGES["docs/suites.md"]


@pytest.mark.parametrize("record", [SessionHead, PlanEntry, RunOutcome])
def test_every_key_of_a_sessions_files_is_described(record: type[Any]) -> None:
    text = re.sub(r"^```.*?^```$", "", PAGES["docs/files.md"], flags=re.S | re.M)
    named = re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", text)))
    assert sorted({field.name for field in dataclasses.fields(record)} - set(named)) == []


def test_the_transcript_of_the_first_session_is_of_one_run_and_of_the_rules_of_today() -> None:
    """The rows that its SQL transcript shows make its table's figures and its headline."""
    quickstart, asked = _transcripts()
    table = {
        (row[0], int(row[1])): row for row in map(str.split, quickstart) if row[1:2] and row[1].isdigit()
    }
    points = [_point(line.split(), table) for line in asked]
    shown = []
    for point in points:
        speedup = " ".join(estimate(point["speedup"], point["speedup_lo"], point["speedup_hi"]))
        efficiency, interval = estimate(*(100 * point[f"efficiency{end}"] for end in ("", "_lo", "_hi")))
        row = " ".join(table[point["case_name"], point["workers"]])
        shown.append(f" {speedup} {efficiency} % {interval} " in row)
    assert len(points) == 4
    assert shown == [True] * 4, "record a new transcript from one run: ci/quickstart and the SQL below it"
    assert quickstart[-1].startswith(headline(points))


def _transcripts() -> tuple[list[str], list[str]]:
    """The lines from the table's first row to the headline, and the rows of the SQL transcript."""
    consoles = re.findall(r"^```console\n(.*?)^```$", PAGES["docs/first-session.md"], re.S | re.M)
    quickstart = next(text for text in consoles if "examples/s [95 %]" in text)
    asked = next(text for text in consoles if "efficiency_lo, efficiency" in text)
    lines = quickstart.partition("──\n")[2].splitlines()
    closing = next(number for number, line in enumerate(lines) if line.startswith("2 ranks against 1: "))
    return lines[: closing + 1], asked.rpartition("-\n")[2].splitlines()


def _point(words: list[str], table: dict[tuple[str, int], list[str]]) -> dict[str, Any]:
    """A row of `scaling` of smoke: throughput is the table's, the rest of the SQL transcript's columns."""
    workers = int(words[1])
    speedup, low, middle, high = map(float, words[2:])
    with empty_database() as connection:
        verdicts = connection.execute(
            "SELECT verdict_of($1), verdict_of($2), verdict_of($3)", [low, middle, high]
        ).fetchone()
    assert verdicts is not None
    return {
        "case_name": words[0], "baseline_case": words[0], "scaling_mode": words[0].rpartition("_")[2], "axis": "ranks",
        "baseline_axis": "ranks", "workers": workers, "baseline_workers": 1, "nodes": 1, "repeats": 5,
        "is_baseline": False, "oversubscribed": False, "repeats_needed": None,
        "is_published": False,
        "throughput": float(table[words[0], workers][2].replace(",", "")),
        "speedup": speedup, "speedup_lo": workers * low, "speedup_hi": workers * high,
        "efficiency": middle, "efficiency_lo": low, "efficiency_hi": high,
        "verdict_lo": verdicts[0], "verdict_hi": verdicts[2],
        "verdict": "retrograde" if workers * high < 1 else verdicts[1],
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted((ROOT / "docs/examples").glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("quick", [False, True])
def test_every_example_suite_is_valid_and_shown(path: Path, quick: bool) -> None:
    assert len(load_suite(str(path), Selection(quick=quick)).cases) >= 1
    assert path.read_text(encoding="utf-8").partition("\n")[2].strip() in PAGES["docs/suites.md"]


def test_verdicts_end_where_the_methodology_says(tmp_path: Path) -> None:
    """Each limit is probed on both sides; on 1 and 64 threads alone, so that even low efficiency is a speedup."""
    limits = sorted(_verdict_limits(), key=lambda limit: limit[1])
    assert [highest for _, _, highest in limits[:-1]] == [lowest for _, lowest, _ in limits[1:]]
    cases = []
    for verdict, lowest, highest in limits:
        for side, efficiency in (("lowest", lowest + 0.001), ("highest", highest - 0.001)):
            step_ms = {1: 64.0, 64: 1 / efficiency}
            cases.append(Case(name=f"{verdict}_{side}", axis="threads", step_ms=step_ms))
    make_session(tmp_path, cases)
    with duckdb.connect() as connection:
        schema.create(connection)
        rows = read_into(connection, tmp_path)("SELECT case_name, verdict FROM scaling WHERE workers = 64")
    assert len(rows) == 10
    assert [row for row in rows if row["case_name"].split("_")[0] != row["verdict"]] == []


def _verdict_limits() -> list[tuple[str, float, float]]:
    """Verdict, least and largest efficiency, as the table of the methodology has them."""
    found = re.findall(
        r"^\| (\w+) \| (?:above ([\d.]+)|below ([\d.]+)|([\d.]+) to ([\d.]+)) \|$",
        PAGES["docs/methodology/scaling.md"],
        re.M,
    )
    return [
        (verdict, float(above or lowest or 0.05), float(below or highest or 3))
        for verdict, above, below, lowest, highest in found
    ]


def test_the_picture_of_the_report_is_small_enough() -> None:
    assert (ROOT / "docs/report.png").stat().st_size <= 200_000
