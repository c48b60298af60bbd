"""The folder of definitions keeps its own rules, and the contract's names."""

from __future__ import annotations

import re

import duckdb
import pytest

from analysis.database import schema
from analysis.loading.load import load
from bench.records.parquet_tables import PARQUET_TABLES
from ci.documents.sql_schema import relations
from tests.factory import Case, make_session
from tests.factory_tables import EVAL_SCHEMA, SAMPLE_SCHEMA, STEP_SCHEMA
from tests.unit.analysis.conftest import ask, fetch

DERIVED = [name for name in schema.derived() if name != schema.FITTED_TABLE]
VIEWS = schema.views()
MACROS = schema.macros()
CONTRACT = {
    "runs": "session_id run_id attempt suite case_name workload strategy scaling_mode axis workers world_size nodes "
    "ranks_per_node threads oversubscribed repeat device_type device_name precision batch_per_rank global_batch "
    "examples_per_step tokens_per_example parameters flops_per_step status error failed_rank failed_node started_at "
    "elapsed_s slurm_job_id tags fingerprint config",
    "run_summary": "step_ms step_ms_mean step_ms_std step_ms_min step_ms_max step_ms_p95 step_ms_p99 cv throughput "
    "tokens_per_s first_loss mean_loss final_loss best_val_loss best_val_accuracy time_per_epoch_s data_share "
    "elapsed_s",
    "scaling": "suite case_name scaling_mode strategy axis workers world_size nodes repeats throughput throughput_lo "
    "throughput_hi baseline_case baseline_workers speedup speedup_lo speedup_hi efficiency efficiency_lo "
    "efficiency_hi karp_flatt verdict verdict_lo verdict_hi placement",
    "scaling_law": "session_id suite case_name points saturating_weight log_weight pairs_weight best_form "
    "serial_fraction growth peak_workers left_out_error reason",
    "scaling_prediction": "session_id suite case_name law kind workers throughput throughput_lo throughput_hi speedup "
    "efficiency relative_error",
    "collectives": "op message_bytes time_ns algorithm_gbps bus_gbps",
    "profile": "rank step communication_ns exposed_communication_ns compute_ns",
}


def test_the_tables_and_views_of_the_contract_are_there():
    assert {*DERIVED, *VIEWS} >= {
        "run_summary",
        "scaling",
        "strong_scaling",
        "weak_scaling",
        "phases",
        "memory",
        "loss_parity",
        "stragglers",
        "strategy_comparison",
        "coverage",
        "scaling_law",
        "scaling_prediction",
    }


def test_a_derived_table_comes_after_those_that_it_reads():
    order = ["run_summary", "placements", "scaling", "law_points", "law_fits", "scaling_law"]
    assert sorted(order, key=schema.derived().index) == order


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_says_what_it_gives_and_defines_itself(name):
    text = schema.text(name)
    assert text.startswith("-- One row per " if "AS TABLE" in text else "-- ")
    assert re.findall(r'CREATE OR REPLACE MACRO "?(\w+)', text) == [name]
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", VIEWS)
def test_a_views_file_says_what_one_row_is_and_defines_that_view(name):
    text = schema.text(name)
    assert text.startswith("-- One row per ")
    assert re.findall(r"CREATE OR REPLACE VIEW (\w+)", text) == [name]
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_tables_file_says_what_one_row_is_and_is_one_query(name):
    text = schema.text(name)
    assert text.startswith("-- One row per ")
    (statement,) = duckdb.extract_statements(text)
    assert statement.type == duckdb.StatementType.SELECT
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("name", schema.tables())
def test_a_tables_file_says_what_one_row_is_and_defines_that_table(name):
    text = schema.text(name)
    assert text.startswith(("-- One row per ", "-- One row: "))
    assert re.findall(r"CREATE TABLE (\w+)", text) == [name]


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_the_columns_of_the_contract_are_there(empty, name):
    columns = ask(empty, f"SELECT column_name FROM duckdb_columns() WHERE table_name = '{name}'")
    assert set(CONTRACT[name].split()) <= {row["column_name"] for row in columns}


def test_no_column_has_the_name_of_its_own_table_or_view():
    columns = {relation.name: [column for column, *_ in relation.columns] for relation in relations()}
    assert "scaling_mode" in columns["scaling"]
    assert [name for name, own in columns.items() if name in own] == []


def test_no_column_is_in_percent():
    columns = [column for relation in relations() for column, *_ in relation.columns]
    assert "efficiency" in columns
    assert [name for name in columns if re.search("pct|percent", name)] == []


@pytest.mark.parametrize("table", PARQUET_TABLES)
def test_a_table_has_the_columns_of_its_parquet_files(table):
    keys = {"session_id": "VARCHAR", "run_id": "VARCHAR", "attempt": "INTEGER"}
    columns = {column.as_fraction or name: column.sql_type for name, column in PARQUET_TABLES[table].items()}
    defined = re.findall(r"^    (\w+) (\w+)", schema.text(table), re.MULTILINE)
    assert defined == [*keys.items(), *columns.items()]


@pytest.mark.parametrize(
    ("table", "written"), [("steps", STEP_SCHEMA), ("samples", SAMPLE_SCHEMA), ("evals", EVAL_SCHEMA)]
)
def test_made_up_files_have_the_columns_of_measured_ones(table, written):
    assert list(PARQUET_TABLES[table]) == written.names


def test_a_first_load_makes_the_same_tables_and_views_as_an_empty_database_has(tmp_path, in_memory):
    make_session(tmp_path, [Case(name="ddp", step_ms={1: 4.0, 2: 2.5})])
    load(tmp_path)
    names = "table_name, column_index, column_name, data_type"
    columns = f"SELECT {names} FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
    macros = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL"
    for query in (columns, macros):
        assert ask(tmp_path, query) == fetch(in_memory, query)


@pytest.mark.parametrize("name", [*DERIVED, *VIEWS])
def test_every_one_can_be_read_when_there_is_nothing_to_see(empty, name):
    assert ask(empty, f"FROM {name}") == []


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("scaling", "results.duckdb-schema/derived/scaling.sql"),
        ("data_bound", "results.duckdb-schema/rules/data_bound.sql"),
        ("mean_of", "the macro mean_of"),
    ],
)
def test_an_error_in_a_definition_names_its_file(in_memory, name, place):
    with pytest.raises(duckdb.ParserException, match=f"{place}: (?s:.*)QUALFY"), schema.errors_name(name):
        in_memory.execute("SELECT 1 QUALFY 1")
    with (
        pytest.raises(duckdb.BinderException, match=f"{place}: (?s:.*)no_such_column"),
        schema.errors_name(name),
    ):
        in_memory.execute("SELECT no_such_column FROM runs")
