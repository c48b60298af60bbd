"""A Parquet file or run.json with impossible values is left out by name; everything else is loaded."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.loading import read_files
from analysis.loading.load import load
from analysis.loading.scan import discover
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask

STEPS = "ddp.1x2.r0/steps.node0.parquet"
RUN = "ddp.1x2.r0/run.json"


CASE = Case(name="ddp", step_ms={1: 4.0, 2: 2.0}, repeats=1, statuses={(1, 0): "oom"})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_session(tmp_path_factory.mktemp("odd"), [CASE], session_id="odd")


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "odd")


def problems(folder):
    """Path below the session's folder -> findings of reading the files."""
    seen = read_files.read(discover(folder.parent), {}).seen
    return {row["path"].removeprefix("odd/"): row["problem"] for row in seen if row["problem"]}


def rewrite(path, change, **options):
    table = pq.read_table(path)
    changed = change(table)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path, **options)


def with_first(name, value, of=None):
    """A change that puts a value into the first row."""

    def change(table):
        place = table.schema.get_field_index(name)
        values = [value, *table[name].to_pylist()[1:]]
        return table.set_column(place, name, pa.array(values, of or table.schema.field(name).type))

    return change


@pytest.mark.parametrize(
    ("name", "value", "of", "said"),
    [
        ("rank", 2**40, pa.int64(), "column rank holds 1,099,511,627,776, above 2,147,483,647"),
        ("step", -1, None, "column step holds -1, below 0"),
        ("step_ns", 2**63 - 1, None, "column step_ns holds 9,223,372,036,854,775,807, above 100,"),
        ("start_ns", 2**63 - 1, None, "column start_ns holds 9,223,372,036,854,775,807, above 100,"),
        ("step_ns", -5, None, "column step_ns holds -5, below 0"),
        ("rank", None, None, "column rank is null in some rows"),
        ("kind", None, None, "column kind is null in some rows"),
        ("kind", "warped", None, "column kind holds 'warped', none of warmup, measured, profiled, no_sync"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_column(folder, name, value, of, said):
    rewrite(folder / STEPS, with_first(name, value, of))
    found = problems(folder)
    assert list(found) == [STEPS]
    assert found[STEPS].startswith(said)


def test_times_before_the_barrier_and_unread_memory_are_no_fault(folder):
    rewrite(folder / STEPS, with_first("start_ns", -5))
    rewrite(folder / STEPS, with_first("memory_allocated_bytes", None))
    assert problems(folder) == {}


def test_a_file_of_steps_without_rows_is_named(folder):
    rewrite(folder / STEPS, lambda table: table.slice(0, 0))
    assert problems(folder) == {STEPS: "has no rows: remove it, or run it again"}


@pytest.mark.parametrize(
    ("part", "name", "value", "said"),
    [
        (
            "spec",
            "batch_per_rank",
            2**62,
            "spec.batch_per_rank is 4611686018427387904, not a whole number from 0 to",
        ),
        (
            "outcome",
            "tokens_per_example",
            2**62,
            "outcome.tokens_per_example is 4611686018427387904, not a number above 0, up to 1,000,000,000",
        ),
        (
            "outcome",
            "parameters",
            2**62,
            "outcome.parameters is 4611686018427387904, not a whole number from 0 to",
        ),
        (
            "outcome",
            "flops_per_step",
            1e200,
            "outcome.flops_per_step is 1e+200, not a number from -1e+30 to 1e+30",
        ),
        (
            "outcome",
            "elapsed_s",
            1e308,
            "outcome.elapsed_s is 1e+308, larger than any time measured, in seconds",
        ),
    ],
)
def test_a_number_of_a_run_that_cannot_be_is_named(folder, part, name, value, said):
    run = json.loads((folder / RUN).read_text())
    run[part][name] = value
    write_json(folder / RUN, run)
    assert problems(folder)[RUN].startswith(said)


@pytest.fixture(scope="module")
def loaded(empty, tmp_path_factory):
    """One load of a session with a further column and of one with an odd value: the report, and the step rows."""
    results = shutil.copytree(empty, tmp_path_factory.mktemp("loaded") / "results")
    for session_id in ("further", "odd"):
        make_session(results, [CASE], session_id=session_id)
    rewrite(results / "further" / STEPS, lambda table: table.append_column("filename", table["kind"]))
    rewrite(results / "odd" / STEPS, with_first("start_ns", 2**63 - 1), write_statistics=False)
    report = load(results)
    steps = ask(results, "SELECT session_id, run_id FROM steps")
    return report, Counter((row["session_id"], row["run_id"]) for row in steps)


def test_further_columns_of_any_name_are_not_read(loaded):
    _report, rows = loaded
    assert (rows["further", "ddp.1x1.r0"], rows["further", "ddp.1x2.r0"]) == (7, 24)


def test_a_value_that_no_footer_tells_of_is_named_by_the_load_and_all_else_is_loaded(loaded):
    report, rows = loaded
    ((path, reason),) = [(problem.path, problem.reason) for problem in report.problems]
    assert path == f"odd/{STEPS}"
    assert reason.startswith("its values cannot be stored (")
    assert (rows["odd", "ddp.1x1.r0"], rows["odd", "ddp.1x2.r0"]) == (7, 0)
    assert (report.runs, report.step_rows) == (4, 38)
