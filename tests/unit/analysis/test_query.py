"""bench sql: it reads, and can do nothing else."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from analysis import output, query
from analysis.errors import AnalysisError
from analysis.load import load
from bench.cli.sql import command
from tests.factory import Case, make_session

ROW = """
SELECT 1 AS i, 0.5 AS f, 'a,b' AS t, true AS b, [1, 2] AS l, {'x': 'nan'::DOUBLE} AS s, NULL AS n, 7::HUGEINT AS h
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    make_session(folder, [Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=2)])
    load(folder)
    return folder


def _run(results, *arguments):
    return CliRunner().invoke(command, [*arguments, "--results", str(results)], catch_exceptions=True)


def _write(results, form, text=ROW, **options):
    stream = io.BytesIO()
    with query.run(results, text) as relation:
        {**output.WRITERS, "table": output.write_table}[form](relation, stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TEMP TABLE t (a INT)",
        "INSERT INTO runs SELECT * FROM runs",
        "DELETE FROM runs",
        "UPDATE runs SET status = 'ok'",
        "DROP VIEW scaling",
        "ALTER TABLE runs ADD COLUMN x INT",
        "ATTACH 'other.db'",
        "ATTACH ':memory:' AS other",
        "DETACH results",
        "COPY runs TO 'runs.csv'",
        "COPY runs FROM 'runs.csv'",
        "EXPORT DATABASE 'folder'",
        "IMPORT DATABASE 'folder'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 1",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA memory_limit = '1GB'",
        "CALL force_checkpoint()",
        "CHECKPOINT",
        "PREPARE p AS SELECT 1",
        "CREATE SECRET s (TYPE http)",
        "EXPLAIN ANALYZE DELETE FROM runs",
        "FROM '/etc/passwd'",
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM read_blob('/proc/self/environ')",
        "FROM glob('/*')",
        "FROM sniff_csv('/etc/passwd')",
        "FROM read_parquet('https://example.org/x.parquet')",
        "FROM results",  # a variable of this very process
        "SELECT getenv('HOME')",
        "SELECT 1; DROP TABLE runs",
    ],
)
def test_a_query_that_would_do_more_than_read_is_refused(results, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnalysisError) as caught:
        _write(results, "table", text)
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "FROM scaling",
        "WITH a AS (SELECT 1 AS x) FROM a",
        "DESCRIBE scaling",
        "SUMMARIZE runs",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
        "PIVOT scaling ON workers USING any_value(efficiency) GROUP BY case_name",
        "SELECT 1;",
    ],
)
def test_a_query_that_reads_is_answered(results, text):
    assert _write(results, "table", text)


@pytest.mark.parametrize(
    ("text", "said"), [("", "the query is empty"), ("SELECT 1; SELECT 2", "one statement, not 2")]
)
def test_a_query_is_one_statement(results, text, said):
    with pytest.raises(AnalysisError, match=said):
        _write(results, "table", text)


def test_duckdbs_own_words_and_its_guess_reach_the_user(results):
    with pytest.raises(
        AnalysisError, match=r"(?s)query failed: .*scalin does not exist.*Did you mean \"scaling\""
    ):
        _write(results, "table", "FROM scalin")


def test_an_error_that_comes_while_fetching_is_a_message_too(results):
    with pytest.raises(AnalysisError, match=r"query failed: .*Could not convert string 'ddp' to INT32"):
        _write(results, "table", "SELECT case_name::INT FROM runs")


def test_a_table_says_how_many_rows_it_does_not_show(results):
    text = _write(results, "table", "FROM range(20000)", rows=3).decode()
    assert text.splitlines() == [
        "range",
        "-----",
        "    0",
        "    1",
        "    2",
        "(19,997 of 20,000 rows are not shown: --rows 0 shows all)",
    ]
    assert len(_write(results, "table", "FROM range(20000)", rows=0).splitlines()) == 20_002


def test_a_table_without_rows_says_so(results):
    assert _write(results, "table", "SELECT 1 AS a WHERE false").decode() == "a\n-\n(no rows)\n"


def test_a_table_that_is_too_wide_becomes_blocks_and_loses_nothing(results):
    text = "SELECT 'abc' AS first, 123456 AS second"
    assert (
        _write(results, "table", text, width=14).decode()
        == "first   second\n-----  -------\nabc    123,456\n"
    )
    assert _write(results, "table", text, width=13).decode() == "-- row 1\nfirst   abc\nsecond  123,456\n"


def test_csv_holds_every_type(results):
    rows = list(csv.reader(io.StringIO(_write(results, "csv").decode())))
    assert rows == [
        ["i", "f", "t", "b", "l", "s", "n", "h"],
        ["1", "0.5", "a,b", "true", "[1, 2]", '{"x": null}', "", "7"],
    ]


def test_json_holds_every_type_and_no_nan(results):
    (row,) = json.loads(_write(results, "json"))
    assert row == {"i": 1, "f": 0.5, "t": "a,b", "b": True, "l": [1, 2], "s": {"x": None}, "n": None, "h": 7}
    assert json.loads(_write(results, "json", "SELECT 1 WHERE false")) == []


def test_json_columns_come_out_as_json(results):
    rows = json.loads(_write(results, "json", "SELECT config FROM runs WHERE repeat = 0 ORDER BY workers"))
    assert [row["config"]["world_size"] for row in rows] == [1, 2]


def test_times_come_out_as_iso_8601(results):
    (row,) = json.loads(_write(results, "json", "SELECT created_at FROM sessions"))
    assert row == {"created_at": "2026-11-21T01:49:25"}


def test_parquet_can_be_read_again(results, tmp_path):
    target = tmp_path / "steps.parquet"
    done = _run(results, "FROM steps ORDER BY ALL", "--format", "parquet", "--out", str(target))
    assert (done.exit_code, done.stdout) == (0, "")
    table = pq.read_table(target)
    assert (table.num_rows, table.column("step_ns").to_pylist()[0]) == (72, 4_000_000)


def test_what_parquet_cannot_hold_is_said(results):
    with pytest.raises(AnalysisError, match="cast it in the query"):
        _write(results, "parquet", "SELECT INTERVAL 1 DAY AS i")


def test_a_table_goes_to_standard_output(results):
    done = _run(results, "SELECT workers, round(efficiency, 2) AS efficiency FROM scaling ORDER BY 1")
    assert (
        done.stdout == "workers  efficiency\n-------  ----------\n      1           1\n      2           1\n"
    )


def test_the_results_folder_comes_from_the_environment_too(results, monkeypatch):
    monkeypatch.setenv("BENCH_RESULTS", str(results))
    assert CliRunner().invoke(command, ["SELECT count(*) AS n FROM steps"]).stdout == " n\n--\n72\n"
