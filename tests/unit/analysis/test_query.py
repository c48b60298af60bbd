"""bench sql reads, and can do nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.sql import output, query, query_files
from analysis.sql.query_files import SessionFilter
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
    with connections.reader(folder):  # a file that is open is opened again in no time
        yield folder


def _run(results, *arguments):
    return CliRunner().invoke(command, [*arguments, "--results", str(results)], catch_exceptions=True)


def _open_files(pid):
    found = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):  # closed meanwhile
            found.add(str(link.readlink()))
    return found


def _write(results, form, text=ROW, **options):
    stream = io.BytesIO()
    with query.run(results, text) as relation:
        {**output.WRITERS, "table": output.write_table}[form](relation, stream, **options)
    return stream.getvalue()


PAGE = (Path(__file__).parents[3] / "docs/security.md").read_text()
TRIED = re.findall(r"^\|[^|]*\| `(.+)` \| (.+) \|$", PAGE, re.MULTILINE)
"""Statement and refusal, from the table of the page."""


def test_the_page_has_its_table():
    assert len(TRIED) > 50


@pytest.mark.parametrize(("text", "said"), TRIED)
def test_a_query_that_would_do_more_than_read_is_refused(results, text, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnalysisError, match=re.escape(said)) as caught:
        _write(results, "table", text)
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_no_function_reads_or_writes_a_file(results, tmp_path, monkeypatch):
    """All table functions, and all scalar functions that take text."""
    monkeypatch.chdir(tmp_path)
    secret = tmp_path / "secret.csv"
    secret.write_text("well,kept\n1,2\n")
    with connections.reader(results) as connection:
        names = connection.execute(
            "SELECT DISTINCT function_name, function_type, len(parameters) FROM duckdb_functions() "
            "WHERE function_type = 'table' "
            "OR (function_type = 'scalar' AND len(parameters) <= 2 AND list_contains(parameter_types, 'VARCHAR'))"
        ).fetchall()
        assert len(names) > 200
        for name, kind, count in names:
            given = ", ".join([f"'{secret}'"] * max(1, count))
            call = f'FROM "{name}"({given})' if kind == "table" else f'SELECT "{name}"({given})'
            with suppress(duckdb.Error):
                if answer := connection.sql(call):
                    assert "kept" not in str(answer.limit(20).to_arrow_table()), call
    assert (secret.read_text(), list(tmp_path.iterdir())) == ("well,kept\n1,2\n", [secret])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sleep_ms(600000)",
        "EXPLAIN ANALYZE SELECT sum(range % 7) FROM range(1000000000000)",
        "FROM range(1000000000000)",
    ],
)
def test_ctrl_c_ends_a_query(results, text):
    command_line = [sys.executable, "-m", "bench", "sql", text, "--results", results]
    started = subprocess.Popen(command_line, stderr=subprocess.PIPE, text=True)
    opened = str(connections.database_path(results))
    while started.poll() is None and opened not in _open_files(started.pid):
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=60)
    assert (started.returncode, errors.strip()) == (130, "bench: stopped")


def test_an_answer_that_says_interrupted_is_no_ctrl_c(results):
    with pytest.raises(AnalysisError, match="Could not convert string 'interrupted'"):
        _write(results, "table", "SELECT 'interrupted'::INT")


@pytest.mark.parametrize(
    ("form", "column"), [("table", "date"), ("json", "timestamp_ns"), ("csv", "bignum"), ("csv", "union")]
)
def test_a_value_that_only_duckdb_knows_is_refused_with_the_remedy(results, form, column):
    with pytest.raises(AnalysisError, match="cast it in the query"):
        _write(results, form, f'SELECT "{column}" FROM test_all_types()')
    assert _write(results, form, f'SELECT "{column}"::VARCHAR AS x FROM test_all_types()')


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


@pytest.mark.parametrize("form", output.WRITERS)
def test_an_error_that_comes_after_thousands_of_rows_is_a_message_too(results, form, tmp_path):
    text = "SELECT if(range = 250000, error('the last one'), range) AS n FROM range(250001)"
    done = _run(results, text, "--format", form, "--out", str(tmp_path / "rows"))
    assert re.search("^query failed: .*the last one", str(done.exception))
    assert list(tmp_path.iterdir()) == []


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
    assert (
        _write(results, "table", text, width=13, full=True).decode()
        == "-- row 1\nfirst   abc\nsecond  123,456\n"
    )


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


def test_json_has_intervals_as_iso_8601_and_maps_as_pairs(results):
    query = "SELECT INTERVAL '1 month 2 days 3.5 seconds' AS i, MAP {'a': 1, 'b': 2} AS m"
    assert json.loads(_write(results, "json", query)) == [{"i": "P1M2DT3.5S", "m": [["a", 1], ["b", 2]]}]


def test_json_keeps_every_column(results):
    query = "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a"
    assert json.loads(_write(results, "json", query)) == [{"a": 1, "a_1": 2, "a_1_1": 3, "a_2": 4}]


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


COPIES = (
    "EXPLAIN ANALYZE COPY (SELECT 1 AS gone) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
    "WITH x AS (COPY (SELECT 1 AS gone) TO '{}' (FORMAT csv, USE_TMP_FILE false)) FROM x",
    "/* ä */ explain (analyze) copy (SELECT 1 AS gone) TO '{}' (FORMAT csv, USE_TMP_FILE false)",
    "FROM query('WITH x AS (COPY (SELECT 1) TO ''{}'' (FORMAT csv, USE_TMP_FILE false)) FROM x')",
)


def test_no_file_that_may_be_read_can_be_written(results, monkeypatch):
    """DuckDB's own list of allowed paths forbids no write to them."""
    allowed = "SELECT unnest(current_setting('allowed_paths'))"
    with query.run(results, allowed) as found:
        paths = [Path(path) for (path,) in found.fetchall()]
    with query_files.reader(results, allowed, SessionFilter()) as opened:
        files = [Path(path) for (path,) in opened.connection.execute(allowed).fetchall()]
        before = {path: path.read_bytes() if path.exists() else None for path in (*paths, *files)}
        assert results / "results.duckdb" in before
        assert [path for path in files if path.name.startswith("steps")]
        monkeypatch.setattr(
            query_files, "reader", lambda *_: nullcontext(opened)
        )  # opened once for all texts
        for text in COPIES:
            for path in paths:
                with pytest.raises(AnalysisError), query.run(results, text.format(path)) as found:
                    found.fetchall()
            with (
                pytest.raises(AnalysisError),
                query.run_on_files(results, text.format(files[0]), SessionFilter()) as (found, _),
            ):
                found.fetchall()
    assert before == {path: path.read_bytes() if path.exists() else None for path in before}


def test_a_column_may_be_named_copy(results):
    assert _write(results, "csv", "SELECT 'COPY' AS \"copy\"") == b'"copy"\n"COPY"\n'
