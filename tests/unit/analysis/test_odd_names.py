"""Names of folders and files that a tool may take for something else."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from analysis.loading.load import load
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0}, repeats=1)


@pytest.fixture
def folder(results):
    return make_session(results, [CASE], session_id="odd")


@pytest.fixture
def good(results):
    """Another session, which nothing odd may touch."""
    make_session(results, [CASE], session_id="good")
    return lambda: ask(results, "SELECT count(*) AS n FROM steps WHERE session_id = 'good'") == [{"n": 12}]


ODD_NAMES = (
    "a\\b[c", "\\lead", "\\le*ad", "a[b]c", "a?", "*", "**", "[a]\\", "a\\", "a{b,c}", "a'b", "a\nb", "é",
)  # fmt: skip


def rename_run(folder, name):
    """The folder, and what its files say of it."""
    run = json.loads((folder / "run.json").read_text())
    write_json(folder / "run.json", run | {"run_id": name, "spec": run["spec"] | {"run_id": name}})
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(
            table.replace_schema_metadata({**table.schema.metadata, b"run_id": name.encode()}), path
        )
    folder.rename(folder.with_name(name))


def test_folders_of_odd_names_are_loaded_with_all_others(results, good):
    folder = make_session(
        results, [Case(name="ddp", step_ms={1: 4.0}, repeats=len(ODD_NAMES))], session_id="odd"
    )
    for repeat, name in enumerate(ODD_NAMES):
        rename_run(folder / f"ddp.1x1.r{repeat}", name)
    assert load(results).problems == ()
    loaded = ask(results, "SELECT run_id, count(*) AS n FROM steps WHERE session_id = 'odd' GROUP BY run_id")
    assert {row["run_id"]: row["n"] for row in loaded} == dict.fromkeys(ODD_NAMES, 12)
    assert good()


@pytest.mark.parametrize("name", ["ddp.1x1.r0", "ddp.1x1.r0/run.json", "ddp.1x1.r0/steps.node0.parquet"])
def test_a_name_that_is_no_text_is_named_and_does_not_lose_the_others(results, folder, good, name):
    (folder / name).rename((folder / name).with_name("\udcff.parquet"))  # the byte ff
    assert [p.path for p in load(results).problems if "not valid UTF-8" in p.reason] == [
        f"{(folder / name).parent.relative_to(results)}/\\xff.parquet"
    ]
    assert good()


def test_a_session_folder_whose_name_is_no_text_is_named(results, folder, good):
    folder.rename(results / "\udcff")
    (problem,) = load(results).problems
    assert (problem.path, problem.reason) == ("\\xff", "its name is not valid UTF-8: rename it")
    assert load(results).unchanged_sessions == 2
    assert good()
