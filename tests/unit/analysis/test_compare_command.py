"""bench compare through the command line: the choice of sessions, the output, and the exit codes."""

from __future__ import annotations

import csv
import functools
import json
import shlex
from datetime import timedelta

import pytest
from click.testing import CliRunner

from analysis.compare import comparison
from analysis.database import connections
from analysis.database.rows import fetch_rows
from analysis.loading.load import load
from bench import cli
from bench.cli._finish_session import show_loaded
from bench.cli.compare import command
from tests.factory import BEGAN, Case, make_session
from tests.unit.analysis.conftest import stored_as
from tests.unit.analysis.test_compare_sides import rewrite

OLD, NEW, NOISY = "20261121T014925Z-smoke-000a", "20261122T014925Z-smoke-000b", "20261123T014925Z-big-000c"
QUIET = [10.0, 10.1, 9.9, 10.05, 9.95]
SLOW = [11.1, 11.2, 11.0, 11.15, 11.05]
"""10 % less throughput, with the same noise."""
NOISE = [9.0, 12.0, 10.0, 11.5, 9.2]
"""Noise that could hide a loss of 10 %."""
LOUD = [1.11 * step_ms for step_ms in NOISE]


def ddp(step_ms, name="ddp", **more):
    return Case(name=name, step_ms={2: step_ms}, repeats=len(step_ms), **more)


FIRST = {f"content of part{n}.py": "1" for n in range(8)} | {"content of same.py": "1"}
CODE = {
    "code-a": FIRST | {"content of gone.py": "1", "user_commit": "a" * 40},
    "code-b": FIRST
    | {f"content of part{n}.py": "2" for n in range(8)}
    | {"user_commit": "b" * 40 + ", changed"},
    "code-c": FIRST | {"content of gone.py": "1", "user_commit": "c" * 40},
}
"""Session -> what is known of the user's code."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    results = tmp_path_factory.mktemp("compare")
    made = {
        OLD: [ddp(QUIET), ddp(QUIET, "gone"), ddp(QUIET, "fell")],
        NEW: [
            ddp(SLOW),
            ddp([8.0] * 2, "new"),
            ddp([9.0] * 2, "fell", statuses={(2, 0): "oom", (2, 1): "oom"}),
        ],
        NOISY: [ddp(LOUD)],
        "quiet2": [ddp([step_ms * 1.002 for step_ms in QUIET])],
        "noisy2": [ddp(NOISE)],
        "single": [ddp([10.0])],
        "it's": [ddp(SLOW)],
        "other": [ddp(QUIET, scaling="weak")],
        "fallen": [ddp(QUIET), ddp(QUIET, "fell", statuses={(2, repeat): "failed" for repeat in range(5)})],
        "skipped": [ddp(QUIET), ddp(QUIET, "fell", statuses={(2, repeat): "skipped" for repeat in range(5)})],
        "broken": [ddp(QUIET, statuses={(2, repeat): "failed" for repeat in range(5)})],
    }
    for day, (name, cases) in enumerate(made.items()):
        tags = {OLD: ["main"], "quiet2": ["main"], NEW: ["change"], NOISY: ["change"]}.get(name, [])
        make_session(results, cases, session_id=name, tags=tags, created_at=BEGAN + timedelta(days=day))
    make_session(
        results,
        [ddp(QUIET, "off"), ddp(SLOW, "on"), ddp([10.0] * 3, "a|b*c")],
        session_id="settings",
        created_at=BEGAN - timedelta(days=1),
    )
    for name, precision in {"A": "fp32", "B": "fp32", "in-bf16": "bf16"}.items():
        make_session(results, [ddp(QUIET, precision=precision)], session_id=name, suite="mine")
    alike = {"settings": "0a", "python": "3.11.7", "torch": "2.15.0", "nodes": "node-a"}
    for folder in results.iterdir():
        rewrite(folder, lambda _facts: alike)
    rewrite(results / "noisy2", lambda _facts: alike | {"torch": "2.16.0", "image": "1f", "nodes": "node-b"})
    rewrite(results / "B", lambda _facts: alike | {"settings": "1b"})
    rewrite(results / "in-bf16", lambda _facts: alike | {"settings": "2c"})
    make_session(results, [ddp(QUIET)], session_id="unknown")
    rewrite(results / "unknown", lambda _facts: {})
    for name, facts in CODE.items():
        make_session(results, [ddp(QUIET)], session_id=name, suite="code")
        rewrite(results / name, lambda _facts, known=facts: known)
    assert load(results).problems == ()
    return results


@pytest.fixture
def bench(sessions, monkeypatch, capsys):
    """`bench(arguments...)` gives exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["bench", *arguments, "--results", str(sessions)])
        code = cli.run_command()
        captured = capsys.readouterr()
        return code, captured.out.rstrip(), captured.err

    return run


@pytest.fixture
def bench_compare(bench):
    return functools.partial(bench, "compare")


def last_line(output):
    return output.splitlines()[-1]


def test_a_planted_regression_of_10_percent_is_found_with_5_repeats(bench_compare):
    code, output, _ = bench_compare(OLD, NEW)
    assert code == 3
    row = next(line for line in output.splitlines() if line.startswith("ddp "))
    assert [cell.strip() for cell in row.split("  ") if cell.strip()] == [
        "ddp", "1x2", "5, 5", "6,400", "5,766", "0.901 [0.891, 0.911]", "slower: regression",
    ]  # fmt: skip
    end = "1 slower; 1 more has no ratio: fell 1x2 (candidate: 2 oom)."
    assert last_line(output) == f"Regression beyond 5 %: ddp 1x2 0.901× [0.891, 0.911]; {end}"


def test_noise_of_the_same_size_is_not_and_the_sentence_says_that_it_is_open(bench_compare):
    code, output, _ = bench_compare("noisy2", NOISY)
    assert code == 0
    assert last_line(output) == (
        "No regression beyond 5 % is certain, but ddp 1x2 0.901× [0.746, 1.088] does not rule it out; 1 inconclusive "
        "(would have seen 31 %)."
    )


def test_a_session_that_is_as_fast_passes_and_what_is_ruled_out_is_said(bench_compare):
    code, output, _ = bench_compare(OLD, "quiet2")
    assert code == 0
    assert last_line(output) == ("No regression beyond 5 %: no interval reaches below it; 1 same.")


def test_whether_machines_must_be_alike_is_asked_and_comes_before_a_regression(bench_compare):
    assert bench_compare(OLD, NEW, "--require-alike")[0] == 3
    assert bench_compare("A", "B", "--require-alike")[0] == 0  # other settings are no other machine
    assert bench_compare("noisy2", NOISY)[0] == 0
    code, output, error = bench_compare("noisy2", NOISY, "--require-alike")
    assert (code, last_line(output)[:20]) == (4, "No regression beyond")
    assert error == (
        "error: the two sides ran on different machines (torch: 2.16.0 → 2.15.0; image: 1f → none): measure both on "
        "one kind of machine\n"
    )
    assert bench_compare("noisy2", NEW, "--require-alike", "--max-regression", "1%")[0] == 4
    code, _, error = bench_compare(OLD, "unknown", "--require-alike")
    assert (code, "a session of a side has no fingerprint, so nothing shows that the machines" in error) == (
        4,
        True,
    )


def test_one_session_without_a_fingerprint_among_several_is_not_shown_to_be_alike(bench_compare):
    assert bench_compare(f"{OLD},quiet2", f"{NEW},A", "--require-alike")[0] != 4
    for sides in ((f"{OLD},quiet2", "A,unknown"), ("A,unknown", f"{OLD},quiet2")):
        code, _, error = bench_compare(*sides, "--require-alike")
        assert code == 4
        assert "a session of a side has no fingerprint" in error


@pytest.mark.parametrize(("limit", "code"), [("0.05", 3), ("8%", 3), ("9.5 %", 0), ("20%", 0), ("0", 3)])
def test_the_limit_decides_and_is_said_as_percent_or_fraction(bench_compare, limit, code):
    assert bench_compare(f"{OLD}:ddp", f"{NEW}:ddp", "--max-regression", limit)[0] == code


@pytest.mark.parametrize(("margin", "verdict"), [("2%", "same"), ("0.001", "inconclusive")])
def test_the_margin_decides_what_is_the_same(bench_compare, margin, verdict):
    (row,) = json.loads(bench_compare(OLD, "quiet2", "--margin", margin, "--format", "json")[1])["rows"]
    assert row["verdict"] == verdict


@pytest.mark.parametrize(
    ("share", "said"),
    [
        ("5", "'5' is 500 %"),
        ("100%", "'100%' is 100 %"),
        ("-1%", "is not a share"),
        ("five", "is not a share"),
        ("nan", "is not a share"),
    ],
)
def test_a_share_that_is_none_is_refused(bench_compare, share, said):
    code, _, error = bench_compare(OLD, NEW, f"--margin={share}")
    assert (code, said in error) == (2, True)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (OLD, "nowhere", "no session 'nowhere'"),
        ("2026112", NEW, f"'2026112' begins 3 sessions: {NOISY}, {NEW}, {OLD}: write more of it"),
        (OLD, OLD, "both sides include session"),
        (OLD, f"{NEW},{OLD}", f"both sides include session {OLD}"),
        ("tag:nix", NEW, "no session has the tag 'nix'; tags in use: change, main"),
        (f"{OLD},", NEW, "a session's name is empty"),
        ("settings:off", "settings", "settings:off: names a case and the other side does not"),
        ("settings:off", "settings:of", "settings:of: no case 'of'; there are a|b*c, off, on"),
        ("settings:off", "settings:off", "both sides include session settings"),
        ("settings:", "settings:on", "write SESSION"),
        (OLD, "other", "no case in common: both sides need a case with the same name, workload, scaling, strategy "
                       "and unit of throughput. "
                       f"ddp: its scaling is strong in {OLD} and weak in other. "
                       f"`bench compare {OLD}:ddp other:ddp` compares it nevertheless"),
        (OLD, "broken", "no case in common has an ok repeat on both sides: ddp 1x2"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_exit_2_with_its_names(bench_compare, one, other, said):
    code, output, error = bench_compare(one, other)
    assert (code, output) == (2, "")
    assert said in error


def test_what_only_one_side_has_and_what_failed_is_said(bench_compare):
    _, output, _ = bench_compare(OLD, NEW)
    assert "only the baseline has: gone 1x2" in output
    assert "only the candidate has: new 1x2" in output
    assert "no ratio: candidate: 2 oom" in next(
        line for line in output.splitlines() if line.startswith("fell")
    )
    assert output.splitlines()[-1].endswith("; 1 more has no ratio: fell 1x2 (candidate: 2 oom).")


@pytest.mark.parametrize(("candidate", "exit_code"), [("fallen", 1), ("skipped", 0)])
def test_a_size_that_no_longer_trains_fails_the_gate(bench_compare, candidate, exit_code):
    code, output, _ = bench_compare(OLD, candidate)
    said = output.splitlines()[-1]
    assert code == exit_code
    assert said.startswith(
        "No regression beyond 5 %: no interval reaches below it; 1 same; 1 more has no ratio: fell"
    )


def test_unlike_sides_are_told_before_the_numbers(bench_compare):
    lines = bench_compare(OLD, "noisy2")[1].splitlines()
    assert lines[:4] == [
        "The two sides differ, and every ratio includes these differences.",
        "  torch: 2.15.0 → 2.16.0",
        "also differs: image: none → 1f",
        "also differs: nodes: node-a → node-b",
    ]
    assert lines[4] == f"noisy2 against {OLD}, the baseline"


def test_files_of_the_users_code_are_named_together_with_the_commit(bench_compare):
    def said(*arguments):
        return bench_compare(*arguments)[1]

    files = "part0.py, part1.py, part2.py, part3.py, part4.py, part5.py and 2 more"
    assert said("code-a", "code-b").splitlines()[1:3] == [
        f"  the code differs: {files} (commit {12 * 'a'} → {12 * 'b'}, changed)",
        "also differs: only the baseline has the content of gone.py",
    ]
    assert said("code-a", "code-c").splitlines()[0] == f"also differs: your commit: {12 * 'a'} → {12 * 'c'}"
    assert "> - the code differs: `part0.py`, `part1.py`" in said("code-a", "code-b", "--format", "markdown")
    code, _, error = bench_compare("code-a", "code-b", "--require-alike")
    assert (code, error) == (0, "")


def test_sessions_are_named_by_their_beginning_by_tag_and_by_list(bench_compare):
    def sides(*arguments):
        found = json.loads(bench_compare(*arguments, "--format", "json")[1])
        return found["baseline"]["sessions"], found["candidate"]["sessions"]

    assert sides("20261121", "quiet") == ([OLD], ["quiet2"])
    assert sides("tag:main", "tag:change") == ([OLD, "quiet2"], [NEW, NOISY])
    assert sides("tag:main,single", f"{NEW}, noisy2,{NEW}") == ([OLD, "quiet2", "single"], [NEW, "noisy2"])


def test_several_sessions_a_side_are_the_unit(bench_compare):
    _, output, _ = bench_compare("tag:main,noisy2", "tag:change")
    row = next(line for line in output.splitlines() if line.startswith("ddp "))
    assert [cell.strip() for cell in row.split("  ") if cell.strip()][2:4] == ["3, 2", "15, 10"]
    assert "intervals: over sessions" in output


def test_two_sessions_a_side_are_too_few_units_and_say_so(bench_compare):
    _, output, _ = bench_compare("tag:main", "tag:change")
    (line,) = [line for line in output.splitlines() if line.startswith("intervals")]
    assert "over repeats, as no side has three sessions. They leave out" in line
    assert "run three sessions per side" in line


@pytest.mark.parametrize(
    ("sides", "single"), [(("tag:main", NEW), "candidate"), ((NEW, "tag:main"), "baseline")]
)
def test_a_single_session_against_several_is_named_with_what_its_interval_lacks(bench_compare, sides, single):
    (line,) = [line for line in bench_compare(*sides)[1].splitlines() if line.startswith("intervals")]
    assert f"over repeats, as only one session of the {single} has ok repeats. They leave out" in line
    assert "differences between sessions (nodes, neighbours, temperature)" in line
    assert "so equal code can come out faster or slower" in line


def test_a_single_repeat_has_no_interval_and_never_fails(bench_compare):
    code, output, _ = bench_compare("single", NEW, "--max-regression", "1%")
    assert code == 0
    assert last_line(output) == (
        "No regression beyond 1 % is certain, but ddp 1x2 0.901× does not rule it out; 1 inconclusive (some without an "
        "interval, which takes three repeats on a side)."
    )


def test_two_cases_of_a_session_are_compared(bench_compare):
    code, output, _ = bench_compare("settings:off", "settings:on")
    assert code == 3
    assert output.splitlines()[0] == "settings on against settings off, the baseline"
    assert "on against off" in output
    assert "which both cases ran in turn" in output


def test_markdown_is_one_table_that_a_hostile_name_does_not_break(bench_compare):
    code, output, _ = bench_compare("settings:off", "settings:a|b*c", "--format", "markdown")
    assert code == 0
    rows = [line for line in output.splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert {line.count("|") for line in rows} == {rows[0].count("|")}
    assert "<code>a&#124;b&#42;c&#32;against&#32;off</code>" in rows[2]
    assert output.startswith("**No regression beyond 5 %: ")


def test_markdown_warns_of_unlike_sides_above_the_table(bench_compare):
    _, output, _ = bench_compare(OLD, "noisy2", "--format", "markdown")
    before = output.partition("| case ")[0]
    assert "> **The two sides differ" in before
    assert "> - `torch`: `2.15.0` → `2.16.0`" in before


def test_json_and_csv_have_the_rows_in_full_precision(bench_compare):
    code, output, _ = bench_compare(OLD, NEW, "--format", "json")
    found = json.loads(output)
    assert (code, found["regression"], found["max_regression"]) == (3, True, 0.05)
    code, output, _ = bench_compare(OLD, NEW, "--format", "csv")
    rows = list(csv.DictReader(output.splitlines()))
    assert code == 3
    ratios = {row["case_name"]: row["ratio"] for row in found["rows"]}
    assert {row["case_name"]: float(row["ratio"]) if row["ratio"] else None for row in rows} == ratios
    assert json.loads(rows[0]["fingerprint_diff"]) == found["rows"][0]["fingerprint_diff"] == []


def test_a_few_other_settings_are_named(bench):
    lines = bench("compare", "A", "in-bf16")[1].splitlines()
    assert lines[1] == "  settings: train.precision: fp32 → bf16"
    assert (
        "\n> - settings: `train.precision: fp32 → bf16`\n"
        in bench("compare", "A", "in-bf16", "--format", "markdown")[1]
    )


def test_other_settings_are_told_with_a_command_that_lists_them(bench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = bench("compare", "A", "B")[1].splitlines()[1]
    shown = "bench report A B --compare"
    assert line == f"  settings, which `{shown}` lists"
    assert bench(*shown.split()[1:])[0] == 0
    assert len(list((tmp_path / "public").glob("compare*.html"))) == 1


def test_bench_sql_reads_the_macro_like_a_view(bench):
    query = f"SELECT case_name, workers, verdict FROM compare('{OLD}', 'it''s', 0.02)"
    code, output, _ = bench("sql", query, "--format", "csv")
    assert (code, output.splitlines()) == (0, ['"case_name","workers","verdict"', '"ddp",2,"slower"'])


def test_why_rows_have_no_ratio_is_asked_once_a_side(sessions, monkeypatch):
    asked = []

    def counted(connection, query, *values):
        asked.append(query)
        return fetch_rows(connection, query, *values)

    monkeypatch.setattr(comparison, "fetch_rows", counted)
    with connections.reader(sessions) as connection:
        found = comparison.compare(connection, OLD, f"{NEW},broken", margin=0.02, max_regression=0.05)
    assert [row["trouble"] for row in found.rows] == ["", "candidate: 2 oom"]
    assert [row["no_longer_trains"] for row in found.rows] == [False, True]
    assert sum("FROM coverage" in query for query in asked) == 2


@stored_as(
    *(
        Case(name=name, step_ms={1: [10.0, 10.1]}, repeats=2)
        for name in ("plain", "a~lr=1", "a~lr=2", "a~lr=3")
    )
)
def test_a_session_with_variants_ends_with_the_command_that_compares_two_of_them(stored, capsys, monkeypatch):
    session = stored.results / stored.session_id
    monkeypatch.setenv("BENCH_RESULTS", str(stored.results))
    show_loaded(session, load=False)
    assert "compare: " not in capsys.readouterr().out, (
        "not loaded by this call: no database is sure to have it"
    )
    show_loaded(session, load=True)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("compare: ")]
    words = shlex.split(line)[2:]
    assert words == ["compare", f"{session.name}:a~lr=1", f"{session.name}:a~lr=2"]
    assert CliRunner().invoke(command, words[1:], standalone_mode=False).return_value == 0
