"""Every kind of bad file at once: each is named and nothing else is missing; restoring the files restores all
data."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.loading.load import load
from tests.factory import Case, make_session, write_json
from tests.unit.analysis.conftest import ask


def flip(path, place):
    """Flip one bit of a file; a negative place counts from its end."""
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)


def swap(one, other):
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_every_bad_file_is_named_in_one_load_and_the_load_after_they_were_put_back_has_all(results, tmp_path):
    """Each kind of damage, at once: every run and session has a different one."""
    make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=12)], session_id="bad")
    for name in ("newer", "whole"):
        make_session(results, [Case(name="ddp", step_ms={1: 4.0}, repeats=1)], session_id=name)
    kept = shutil.copytree(results, tmp_path / "kept")
    run = [results / "bad" / f"ddp.1x1.r{repeat}" for repeat in range(12)]
    steps = [folder / "steps.node0.parquet" for folder in run]
    steps[0].write_bytes(steps[0].read_bytes()[:-1])
    swap(steps[1], steps[2])
    flip(steps[3], -1)
    flip(steps[4], -6)
    for place in range(4, 200):
        flip(steps[5], place)
    (run[6] / "run.json").write_text((run[6] / "run.json").read_text().replace("{", "[", 1))
    run[7].rename(results / "bad" / "renamed")
    pq.write_table(pa.table({"x": [1]}), steps[8])
    table = pq.read_table(steps[9])
    newer = {**table.schema.metadata, b"schema_version": b"2"}
    pq.write_table(table.replace_schema_metadata(newer), steps[9])
    for path in (run[10] / "run.json", results / "newer" / "session.json"):
        write_json(path, json.loads(path.read_text()) | {"schema_version": 2})
    named = {problem.path.removeprefix("bad/"): problem.reason for problem in load(results).problems}
    of_steps = [f"ddp.1x1.r{repeat}/steps.node0.parquet" for repeat in (0, 1, 2, 3, 4, 5, 8, 9)]
    of_runs = ["ddp.1x1.r6/run.json", "renamed/run.json", "ddp.1x1.r10/run.json"]
    assert named.keys() == {*of_steps, *of_runs, "newer/session.json"}
    assert all(named.values())
    rows = "SELECT session_id, count(*) AS n FROM {} GROUP BY ALL ORDER BY ALL"
    assert ask(results, rows.format("steps")) == [
        {"session_id": "bad", "n": 12},
        {"session_id": "whole", "n": 12},
    ]
    assert ask(results, rows.format("runs"))[0] == {"session_id": "bad", "n": 9}
    for name in ("bad", "newer"):
        shutil.rmtree(results / name)
        shutil.copytree(kept / name, results / name)
    assert load(results).problems == ()
    assert ask(results, rows.format("steps")) == [
        {"session_id": name, "n": n} for name, n in (("bad", 144), ("newer", 12), ("whole", 12))
    ]
