"""Custom rules: their possible forms, their findings over several loads, and the limits of a bad one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.diagnosis import custom_rules, findings, run_custom_rules
from analysis.diagnosis.rules import Rule, read
from analysis.errors import AnalysisError
from analysis.loading.load import load
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import ask

HEAD = "-- title: Few steps\n-- severity: warning\n-- meaning: A handful of steps\n--   says little.\n"
BODY = (
    "SELECT session_id, case_name, 'shown' AS certainty, coalesce(measured_steps, 0) || ' steps' AS evidence,\n"
    "    'Measure more.' AS advice, '--set measure.steps=40' AS options\n"
    "FROM run_summary WHERE coalesce(measured_steps, 0) < 20 -- of a run;\n"
)
TABLE = Path(__file__).parents[3] / "docs/examples/published_table.txt"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rule(tmp_path / "rules")


def write_rule(folder: Path) -> Path:
    folder.mkdir()
    (folder / "few_steps.sql").write_text(HEAD + BODY + ";\n")
    return folder


@pytest.fixture(scope="module")
def loaded(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with a session in which the rule finds something."""
    folder = tmp_path_factory.mktemp("loaded")
    results = Path(shutil.copytree(empty, folder / "results"))
    cases = [Case(name="odd", step_ms={1: 10.0}), Case(name="long", step_ms={1: 10.0}, steps=40)]
    make_session(results, cases, session_id="s")
    load(results, write_rule(folder / "rules"))
    return results


@pytest.fixture
def results(loaded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(loaded, tmp_path / "results"))


@pytest.fixture(scope="module")
def locked(loaded: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(
        shutil.copy(loaded / "results.duckdb", loaded.parent / "locked.duckdb")
    ) as connection:
        custom_rules.lock(connection)
        yield connection


def found(results: Path) -> list[tuple[str, str]]:
    rows = ask(results, "FROM diagnosis JOIN diagnosis_rules USING (finding) WHERE is_custom ORDER BY ALL")
    return sorted((row["finding"], row["case_name"]) for row in rows)


def test_what_one_finds_stands_beside_what_the_others_find(loaded):
    with connections.reader(loaded) as connection:
        (row,) = [row for row in findings.read(connection, "s") if row["finding"] == "few_steps"]
    assert row["title"] == "Few steps"
    assert row["meaning"] == "A handful of steps says little."
    assert (row["case_name"], row["evidence"], row["times"]) == ("odd", "10 steps", 1)
    assert row["command"] == "bench suite smoke --set measure.steps=40"


@pytest.mark.usefixtures("without_rules")
def test_it_stays_and_is_asked_again_over_loads_and_rebuilds_until_another_folder_is_named(results, tmp_path):
    make_session(results, [Case(name="next", step_ms={1: 10.0})], session_id="t")
    with duckdb.connect(results / "results.duckdb") as connection:
        connection.execute("UPDATE database_info SET definitions = 'of another version'")
    load(results)
    assert found(results) == [("few_steps", "next"), ("few_steps", "odd")]
    (tmp_path / "none").mkdir()
    load(results, tmp_path / "none")
    assert found(results) == []
    load(results)
    assert found(results) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BODY + "; SELECT 1", "a rule is one SELECT, and nothing else"),
        ("DROP TABLE runs", "a rule is one SELECT, and nothing else"),
        ("COPY runs TO 'x.csv'", "a rule is one SELECT, and nothing else"),
        ("SET memory_limit = '1GB'", "a rule is one SELECT, and nothing else"),
        ("SELECT 1); DROP TABLE runs; SELECT * FROM (SELECT 1", "DuckDB says: Parser Error"),
        ("SELECT FROM WHERE", "DuckDB says: Parser Error"),
        (BODY.replace("run_summary", "'/etc/passwd'"), "DuckDB says: "),
        (BODY.replace("run_summary", "read_text('/etc/passwd')"), "DuckDB says: Permission Error"),
        (BODY.replace("run_summary", "run_sumary"), "DuckDB says: Catalog Error"),
        (BODY.replace("< 20", "< $1"), "DuckDB says: "),
        (BODY.replace(" AS options", " AS note"), "gives a column note: there may be session_id"),
        (BODY.replace(" AS advice", " AS options, 'a' AS options"), "gives no column advice"),
        (BODY.replace("case_name,", "'high' AS cost,"), "column cost is VARCHAR: it must be DOUBLE"),
        (BODY.replace("case_name,", "[case_name] AS case_name,"), "column case_name is VARCHAR[]"),
        (
            BODY.replace("run_summary", "diagnosis"),
            "it reads diagnosis: a rule must not read what rules have found",
        ),
        (BODY.replace("FROM run_summary", "from run_summary, diagnosis"), "it reads diagnosis: a rule"),
        (BODY.replace("run_summary", 'main."Findings"'), "it reads findings: a rule"),
    ],
)
def test_a_query_that_cannot_be_a_rule_is_refused(tmp_path, locked, text, said):
    (tmp_path / "mine.sql").write_text(HEAD + text)
    (rule,) = read(tmp_path, is_custom=True)
    assert said in (custom_rules.problem(locked, rule) or "nothing")


def test_a_column_may_be_null_or_a_number_that_fits(tmp_path, locked):
    columns = "NULL AS case_name, 2::BIGINT AS nodes, 0.25 AS cost,"
    (tmp_path / "mine.sql").write_text(HEAD + BODY.replace("case_name,", columns))
    (rule,) = read(tmp_path, is_custom=True)
    assert custom_rules.problem(locked, rule) is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Capital", HEAD + BODY, "Capital.sql: a rule's file is named after what it finds"),
        ("headless", BODY, "headless.sql: its head has no line `-- title: ...`"),
        ("grave", HEAD.replace("warning", "fatal") + BODY, "grave.sql: severity is 'fatal'"),
        (
            "latin",
            (HEAD + BODY).replace("odd", "ödd").replace("little", "\udce4"),
            "latin.sql: cannot be read",
        ),
    ],
)
def test_a_file_without_a_whole_head_or_a_usable_name_is_refused(tmp_path, name, text, said):
    (tmp_path / f"{name}.sql").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(AnalysisError, match=said):
        custom_rules.read(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(AnalysisError, match="there is no such folder: --rules"):
        custom_rules.read(tmp_path / "rulez")


def test_a_bad_file_is_named_by_bench_load_and_changes_no_rule(results, rules):
    (rules / "negative_scaling.sql").write_text(HEAD + BODY)
    with pytest.raises(
        AnalysisError, match=r"/negative_scaling\.sql: there is a rule of this name"
    ) as refused:
        load(results, rules)
    assert refused.value.exit_code == 2
    assert found(results) == [("few_steps", "odd")]


def test_one_that_fails_on_the_rows_is_left_out_and_takes_no_other_with_it(results, rules):
    for name, old, new in (
        ("cast", "coalesce(measured_steps, 0) || ' steps'", "case_name::INTEGER::VARCHAR"),
        ("hollow", "'shown'", "nullif('shown', 'shown')"),
        ("nan", "case_name,", "'nan'::DOUBLE AS cost,"),
        ("endless", "case_name,", "'inf'::DOUBLE AS magnitude,"),
        ("unsure", "'shown'", "'certain'"),
        ("verbose", "'Measure more.'", "repeat('Measure more. ', 500)"),
        ("wide", "FROM run_summary", "FROM run_summary, range(1000)"),
    ):
        (rules / f"{name}.sql").write_text(HEAD + BODY.replace(old, new))
    loading = import_module("bench.cli.load").command
    done = CliRunner().invoke(loading, [str(results), "--rules", str(rules)], standalone_mode=False)
    assert done.return_value == 1
    assert [line.partition(": ")[2] for line in done.stdout.splitlines()[2:]] == [
        "rule cast: DuckDB says: Conversion Error: Could not convert string 'odd' to INT32 when casting from "
        "source column case_name",
        "rule endless: gives a row whose magnitude is no number",
        "rule hollow: gives a row where one of session_id, certainty, evidence, advice is null",
        "rule nan: gives a row whose cost is no number",
        "rule unsure: gives a row whose certainty is none of shown, likely, estimated",
        "rule verbose: gives a row with a text of more than 2,000 characters",
        "rule wide: gives more than 1,000 rows of a session",
    ]
    assert found(results) == [("few_steps", "odd")]
    assert len(load(results).problems) == 7
    (noted,) = ask(results, "SELECT problem FROM diagnosis_rules WHERE finding = 'wide'")
    assert noted["problem"] == "gives more than 1,000 rows of a session"


@pytest.mark.parametrize("limit_s", [0.2, 0.0001])
def test_one_that_takes_too_long_is_left_out(results, limit_s):
    """The query is stopped even if its time is over before it begins."""
    forever = "FROM range(1000000000) AS a, range(1000000000) AS b WHERE a.range + b.range < 0"
    texts = "'s' AS session_id, 'shown' AS certainty, 'e' AS evidence, 'a' AS advice"
    rule = Rule(
        finding="slow",
        title="Slow",
        severity="notice",
        meaning="m",
        is_custom=True,
        definition=f"SELECT {texts} {forever}",
    )
    with duckdb.connect(results / "results.duckdb") as connection:
        assert list(run_custom_rules.run_due(connection, [rule], limit_s)) == [
            (rule, f"takes longer than {limit_s:g} s")
        ]


@pytest.mark.usefixtures("without_rules")
def test_a_load_that_is_stopped_while_a_rule_looks_keeps_what_it_found_and_the_next_asks_it(
    results, monkeypatch
):
    make_session(results, [Case(name="next", step_ms={1: 10.0})], session_id="t")
    for raised, seen in (
        (RuntimeError("Query interrupted"), KeyboardInterrupt),
        (RecursionError(), RecursionError),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(run_custom_rules, "_run", Mock(side_effect=raised))
            with pytest.raises(seen):
                load(results)
        assert found(results) == [("few_steps", "odd")]
    load(results)
    assert found(results) == [("few_steps", "next"), ("few_steps", "odd")]


def test_one_with_a_name_that_ships_today_leaves_the_findings_of_that_name(results):
    with duckdb.connect(results / "results.duckdb") as connection:
        connection.execute("UPDATE diagnosis_rules SET finding = 'noisy', is_due = true WHERE is_custom")
        connection.execute("UPDATE findings SET finding = 'noisy'")
    before = ask(results, "FROM findings")
    assert before
    for _ in range(2):
        load(results)
        assert ask(results, "FROM findings") == before


@pytest.mark.usefixtures("without_rules")
def test_a_rule_is_asked_again_where_sessions_or_itself_changed(results, rules):
    with duckdb.connect(results / "results.duckdb") as connection:
        connection.execute("UPDATE findings SET evidence = 'as it was' WHERE finding = 'few_steps'")
    evidence = "SELECT evidence FROM diagnosis WHERE finding = 'few_steps' ORDER BY session_id"
    load(results, rules)
    assert [row["evidence"] for row in ask(results, evidence)] == ["as it was"]
    make_session(results, [Case(name="next", step_ms={1: 10.0})], session_id="t", suite="another")
    load(results, rules)
    assert [row["evidence"] for row in ask(results, evidence)] == ["10 steps", "10 steps"]
    (rules / "few_steps.sql").write_text(HEAD + BODY.replace("' steps'", "' of them'") + ";\n")
    load(results, rules)
    assert [row["evidence"] for row in ask(results, evidence)] == ["10 of them", "10 of them"]


@pytest.mark.usefixtures("without_rules")
def test_of_placements_with_costs_that_only_rounding_distinguishes_the_largest_is_shown(results, rules):
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 5.0})], session_id="two")
    query = (
        "SELECT session_id, case_name, nodes, ranks_per_node, threads, 'shown' AS certainty, 'e' AS evidence,\n"
        "    if(workers = 1, 1e-1 + 2e-1, 3e-1) AS cost, 'a' AS advice\n"
        "FROM scaling WHERE session_id = 'two'\n"
    )
    (rules / "few_steps.sql").write_text(HEAD + query)
    load(results, rules)
    (row,) = ask(results, "FROM diagnosis WHERE finding = 'few_steps'")
    assert (row["workers"], row["times"], row["cost"]) == (2, 2, 0.3)


def test_a_byte_order_mark_is_no_part_of_the_head_and_an_ending_in_capitals_is_named(tmp_path):
    (tmp_path / "mine.sql").write_text(HEAD + BODY, encoding="utf-8-sig")
    assert [rule.title for rule in custom_rules.read(tmp_path)] == ["Few steps"]
    (tmp_path / "aa.SQL").write_text(HEAD + BODY)
    with pytest.raises(AnalysisError, match=r"aa\.SQL: a rule's file is named"):
        custom_rules.read(tmp_path)


def test_a_database_from_a_stranger_reads_no_file_by_its_rules(results, tmp_path):
    (tmp_path / "secret").write_text("42")
    definition = BODY.replace("run_summary", f"run_summary, read_text('{tmp_path / 'secret'}')")
    with duckdb.connect(results / "results.duckdb") as connection:
        change = "UPDATE diagnosis_rules SET definition = $1, is_due = true WHERE is_custom"
        connection.execute(change, [definition])
    (problem,) = load(results).problems
    assert problem.path == "rule few_steps"
    assert "file system operations are disabled" in problem.reason


def test_bench_rules_holds_for_every_load_and_a_bad_one_is_refused_before_anything_is_measured(
    empty, tmp_path, rules, monkeypatch
):
    results = shutil.copytree(empty, tmp_path / "r")
    monkeypatch.setenv("BENCH_RULES", str(rules))
    importing = import_module("bench.cli.import").command
    words = [str(TABLE), "--suite", "p", "--results", str(results)]
    done = CliRunner().invoke(importing, words, standalone_mode=False)
    assert done.return_value == 0
    said = done.stdout.splitlines()
    assert said[said.index("  2. Few steps (p): certain") + 1] == "    0 steps"
    (rules / "two.sql").write_text(HEAD + BODY + "; SELECT 1")
    measuring = import_module("bench.cli.suite").command
    refused = CliRunner().invoke(measuring, ["smoke", *words[3:]], standalone_mode=False)
    assert "two.sql: a rule is one SELECT" in str(refused.exception)
    assert len(list(results.glob("*/session.json"))) == 1
