"""Names of folders and files that a tool may take for something else."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from analysis.loading.load import load
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask

CASE = Case(name="ddp", step_ms={1: 4.0}, repeats=1)
ODD_NAMES = (
    "a\\b[c", "\\lead", "\\le*ad", "a[b]c", "a?", "*", "**", "[a]\\", "a\\", "a{b,c}", "a'b", "a\nb", "é",
)  # fmt: skip
NO_TEXT = {
    "run": ("ddp.1x1.r0", "\udcff"),
    "steps": ("ddp.1x1.r0/steps.node0.parquet", "steps.node\udcff.parquet"),
}
"""Session -> a path below its folder, and the new name of its last part, with the byte ff."""


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


@pytest.fixture(scope="module")
def loaded(empty, tmp_path_factory):
    """Sessions with odd names and a good one, which nothing odd may touch, loaded at once."""
    results = shutil.copytree(empty, tmp_path_factory.mktemp("odd") / "results")
    many = Case(name="ddp", step_ms={1: 4.0}, repeats=len(ODD_NAMES))
    for session_id in ("good", "itself", *NO_TEXT):
        make_session(results, [CASE], session_id=session_id)
    folder = make_session(results, [many], session_id="odd")
    for repeat, name in enumerate(ODD_NAMES):
        rename_run(folder / f"ddp.1x1.r{repeat}", name)
    for session_id, (name, new) in NO_TEXT.items():
        path = results / session_id / name
        path.rename(path.with_name(new))
    (results / "itself").rename(results / "\udcff")
    report = load(results)
    rows = ask(results, "SELECT session_id, run_id FROM steps")
    return SimpleNamespace(
        problems={problem.path: problem.reason for problem in report.problems},
        rows=Counter((row["session_id"], row["run_id"]) for row in rows),
        again=load(results),
    )


def test_folders_of_odd_names_are_loaded_with_all_others(loaded):
    assert {path for path in loaded.problems if path.startswith("odd")} == set()
    found = {run: rows for (session, run), rows in loaded.rows.items() if session == "odd"}
    assert found == dict.fromkeys(ODD_NAMES, 12)
    assert loaded.rows["good", "ddp.1x1.r0"] == 12


@pytest.mark.parametrize("session", NO_TEXT)
def test_a_name_that_is_no_text_is_named_and_does_not_lose_the_others(loaded, session):
    named = [path for path, reason in loaded.problems.items() if "not valid UTF-8" in reason]
    old, new = NO_TEXT[session]
    path = f"{session}/{old.rpartition('/')[0]}".rstrip("/") + "/" + new.replace("\udcff", "\\xff")
    assert [name for name in named if name.startswith(f"{session}/")] == [path]
    assert loaded.rows["good", "ddp.1x1.r0"] == 12


def test_a_session_folder_whose_name_is_no_text_is_named(loaded):
    assert loaded.problems["\\xff"] == "its name is not valid UTF-8: rename it"
    assert (loaded.again.sessions, loaded.again.unchanged_sessions) == (0, 5)
    assert not [session for session, _run in loaded.rows if session in ("itself", "\\xff")]
