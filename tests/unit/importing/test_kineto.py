"""Traces of torch.profiler: what a GPU did in each step of each rank."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.importing.formats import kineto, trace_events
from bench.importing.import_session import ImportRequest, read_files
from tests.kineto_traces import COMPUTE, GpuTrace, random_trace, two_steps, write_all
from tests.unit.analysis.conftest import Ask
from tests.unit.importing.conftest import Take

Rows = list[dict[str, Any]]
HTA = json.loads((Path(__file__).parents[2] / "data/hta_answers.json").read_text(encoding="utf-8"))


@pytest.fixture
def table(rows_of: Callable[..., Ask]) -> Callable[..., Rows]:
    """`table(name, *files)`: import the files, and return the rows of the table."""
    return lambda name, *files: rows_of(*files)(f"FROM {name}")


def pick(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def test_a_step_has_computation_communication_and_what_computation_hides(tmp_path: Path, table: Any) -> None:
    rows = table("profile", *write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1, late=100)]))
    names = ("rank", "step", "step_ns", "communication_ns", "exposed_communication_ns", "compute_ns")
    assert sorted(pick(row, *names) for row in rows) == [
        (0, 10, 1_000_000, 300_000, 200_000, 600_000),
        (0, 11, 1_000_000, 300_000, 200_000, 600_000),
        (1, 10, 1_000_000, 200_000, 100_000, 700_000),
        (1, 11, 1_000_000, 200_000, 100_000, 700_000),
    ]


def test_collectives_have_their_bytes_and_their_group(tmp_path: Path, table: Any) -> None:
    files = write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1)])
    rows = table("profile_collectives", *files)
    assert {pick(row, "op", "calls", "message_bytes", "time_ns") for row in rows} == {
        ("all_reduce", 1, 4_000, 300_000)
    }
    groups = table("profile_groups", *files)
    assert {pick(row, "group_name", "description", "ranks", "calls") for row in groups} == {
        ("0", "default_pg", 2, 1)
    }


def test_the_run_has_the_world_the_gpu_and_the_backend_of_the_traces(tmp_path: Path, table: Any) -> None:
    (run,) = table("runs", *write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1)]))
    assert pick(run, "world_size", "nodes", "device_type", "device_name", "status", "case_name") == (
        2, 1, "cuda", "NVIDIA A100-SXM4-80GB", "ok", "demo",
    )  # fmt: skip
    assert json.loads(run["fingerprint"]) == {
        "device_type": "cuda", "gpu": "NVIDIA A100-SXM4-80GB", "nccl": "2.27.3", "transport": "nccl",
    }  # fmt: skip


def test_the_communication_view_averages_the_ranks(tmp_path: Path, table: Any) -> None:
    (row,) = table("communication", *write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1, late=100)]))
    assert row["exposed_communication_ms"] == pytest.approx(0.15)
    assert row["least_communication_ms"] == pytest.approx(0.2)
    assert row["exposed_share"] == pytest.approx(0.15)


@pytest.mark.parametrize("seed", range(6))
def test_times_are_those_of_holistic_trace_analysis(tmp_path: Path, seed: int) -> None:
    name = f"random-{seed}.json.gz"
    trace = kineto.read(random_trace(seed).write(tmp_path / name))
    steps = trace.steps[:-1]  # HTA leaves out the last
    compute, communication, exposed = (
        sum(getattr(step.profile, time) for step in steps)
        for time in ("compute_ns", "communication_ns", "exposed_communication_ns")
    )
    told = HTA["traces"][name]
    assert compute == 1_000 * told["compute_us"]
    assert communication == 1_000 * told["communication_us"]
    assert exposed == 1_000 * told["exposed_communication_us"]
    assert 100 * (1 - exposed / communication) == pytest.approx(told["overlap_percent"], abs=0.005)


def test_a_step_of_a_device_far_behind_its_host_has_the_kernels_that_the_step_launched(
    tmp_path: Path,
) -> None:
    """The host is done with both steps before the device begins the first; before that it works on older kernels."""
    trace = GpuTrace()
    trace.step(1, 0, 100)
    trace.step(2, 100, 200)
    trace.kernel(0, 500, launch=None)
    trace.kernel(500, 900, launch=10)
    trace.kernel(1_000, 1_200, launch=110)
    first, second = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert (first.number, first.window, first.profile.compute_ns) == (1, (500_000, 900_000), 400_000)
    assert (second.number, second.window, second.profile.compute_ns) == (2, (900_000, 1_200_000), 200_000)


def test_kernels_of_an_unknown_launch_in_the_middle_of_the_steps_do_not_move_them(tmp_path: Path) -> None:
    """A second stream has only kernels whose launch the trace does not show."""
    trace = GpuTrace()
    for number, begin in ((1, 0), (2, 100)):
        trace.step(number, begin, begin + 100)
        trace.kernel(begin + 10, begin + 90, launch=begin + 5)
        trace.kernel(begin + 50, begin + 60, launch=None, stream=9)
    found = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert [(step.number, step.window) for step in found] == [(1, (0, 100_000)), (2, (100_000, 200_000))]


def test_a_step_begins_when_each_of_its_streams_has_done_what_was_launched_before(tmp_path: Path) -> None:
    """The second stream still works on older kernels when the first one begins the step."""
    trace = GpuTrace()
    trace.step(1, 0, 100)
    trace.kernel(10, 90, launch=5)
    trace.kernel(20, 50, launch=None, stream=9)
    trace.kernel(50, 95, launch=6, stream=9)
    (step,) = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert step.window == (50_000, 100_000)


def test_kernels_without_a_known_launch_leave_the_steps_of_the_host(tmp_path: Path) -> None:
    trace = GpuTrace()
    trace.step(1, 0, 100)
    trace.kernel(10, 60, launch=None)
    (step,) = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert (step.window, step.profile.compute_ns) == ((0, 100_000), 50_000)


def test_without_steps_the_whole_trace_is_one(tmp_path: Path) -> None:
    trace = GpuTrace()
    trace.kernel(100, 150, launch=90)
    trace.kernel(200, 300, launch=91)
    (step,) = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert (step.number, step.window, step.profile.compute_ns) == (0, (100_000, 300_000), 150_000)


def test_our_own_steps_are_steps_too(tmp_path: Path) -> None:
    trace = two_steps()
    for event in trace.events:
        event["name"] = event["name"].replace("ProfilerStep#", "bench.step ")
    assert [step.number for step in kineto.read(trace.write(tmp_path / "t.json")).steps] == [10, 11]


def test_old_names_of_kernels_tell_the_operation(tmp_path: Path) -> None:
    trace = GpuTrace()
    for place, name in enumerate(
        (
            "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
            "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)",
        )
    ):
        trace.kernel(10 * place, 10 * place + 5, launch=None, name=name, stream=20)
    (step,) = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert set(step.profile.collectives) == {"all_reduce", "SendRecv"}


def test_a_compressed_trace_and_a_plain_one_are_the_same(tmp_path: Path) -> None:
    plain = kineto.read(two_steps().write(tmp_path / "a.json"))
    compressed = kineto.read(two_steps().write(tmp_path / "b.json.gz"))
    assert plain.steps == compressed.steps
    assert plain.sha256 != compressed.sha256


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_it_does_not_matter_where_the_pieces_of_a_file_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    path = two_steps().write(tmp_path / "rank-0.json")
    whole = kineto.read(path)
    monkeypatch.setattr(trace_events, "_PIECE", piece)
    assert kineto.read(path) == whole


def test_memory_does_not_grow_with_events_that_do_not_count(tmp_path: Path) -> None:
    noise = json.dumps({"ph": "X", "cat": "python_function", "name": "f" * 1_000, "ts": 1, "dur": 1}) + ","
    path = tmp_path / "rank-0.json.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"traceEvents": [')
        for _ in range(60):
            file.write(1_000 * noise)
        file.write(json.dumps(two_steps().events[2]) + "]}")
    tracemalloc.start()
    try:
        kineto.read(path)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 20e6  # the text has 63 MB


def test_missing_ranks_are_said_and_leave_out_the_replay(tmp_path: Path, rows_of: Any) -> None:
    ask = rows_of(*write_all(tmp_path, [two_steps(rank=1, world_size=8), two_steps(rank=3, world_size=8)]))
    assert ask("SELECT title FROM sessions") == [{"title": "demo: imported from 2 traces (2 of 8 ranks)"}]
    assert ask("SELECT DISTINCT rank FROM profile ORDER BY rank") == [{"rank": 1}, {"rank": 3}]
    assert ask("FROM profile_replays") == []


def test_the_rank_and_the_nodes_can_be_in_the_files_names(tmp_path: Path) -> None:
    for late in (0, 1):
        two_steps(rank=None, late=late).write(tmp_path / f"rank-{late}.json")  # type: ignore[arg-type]
    (run,) = read_files(
        ImportRequest(files=(str(tmp_path / "rank-*.json"),), suite="demo", kind="trace", world=2)
    ).rows
    assert run.world_size == 2
    hosts = ("n1_77.1700000000001", "n2_78.1700000000002")
    files = [
        str(two_steps(rank=rank, late=rank).write(tmp_path / f"{host}.pt.trace.json.gz"))
        for rank, host in enumerate(hosts)
    ]
    (run,) = read_files(ImportRequest(files=tuple(files), suite="demo")).rows
    assert (run.world_size, run.nodes) == (2, 2)


def test_traces_of_two_runs_or_one_trace_twice_are_refused(tmp_path: Path) -> None:
    first = str(two_steps(rank=None).write(tmp_path / "rank-0.json"))  # type: ignore[arg-type]
    (tmp_path / "rank-1.json").write_bytes((tmp_path / "rank-0.json").read_bytes())
    with pytest.raises(InputError, match=r"rank-1\.json: the same trace as rank-0\.json"):
        read_files(ImportRequest(files=(first, str(tmp_path / "rank-1.json")), suite="demo", world=2))
    later = (tmp_path / "rank-0.json").read_text().replace("ProfilerStep#", "ProfilerStep#9")
    (tmp_path / "rank-1.json").write_text(later)
    with pytest.raises(InputError, match=r"rank-1\.json: no step in common with rank-0\.json"):
        read_files(ImportRequest(files=(first, str(tmp_path / "rank-1.json")), suite="demo", world=2))


def test_a_step_is_replayed_without_its_straggler(tmp_path: Path, table: Any) -> None:
    """Rank 1 computes 100 µs longer before the all-reduce, so both ranks would gain half of it."""
    files = write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1, late=100)])
    rows = table("profile_replays", *files)
    names = ("step", "step_ns", "replayed_ns", "even_ns", "without_slowest_ns", "slowest")
    assert sorted(pick(row, *names) for row in rows) == [
        (10, 1_000_000, 1_000_000, 950_000, 950_000, "1"),
        (11, 1_000_000, 1_000_000, 950_000, 950_000, "1"),
    ]


def test_ranks_with_clocks_of_their_own_share_one_timeline(tmp_path: Path, table: Any) -> None:
    """Rank 1's clock is an hour ahead, and its trace begins 50 µs earlier in the step."""
    late = two_steps(rank=1, clock=3.6e9)
    for event in late.events:
        if event["cat"] == "user_annotation":
            event["ts"] -= 50
            event["dur"] += 50 if event["name"].endswith("10") else 0
    rows = table("profile_timeline", *write_all(tmp_path, [two_steps(rank=0), late]))
    begins = {row["rank"]: row["begin_ns"] for row in rows if row["slice"] == 0 and row["step"] == 10}
    assert begins == {0: 50_000, 1: 0}


@pytest.mark.parametrize(
    "change",
    [
        {"Group size": None},
        {"Process Group Name": ""},
        {"Collective name": None},
        {"Group size": 1},
    ],
    ids=str,
)
def test_ranks_whose_collectives_may_have_other_partners_begin_together_and_are_not_replayed(
    tmp_path: Path, rows_of: Any, change: dict[str, Any]
) -> None:
    """Traces of older torch do not tell the size of a group, which may be smaller than all ranks."""
    traces = [two_steps(rank=0), two_steps(rank=1, late=100)]
    traces[1].events[0] |= {"ts": traces[1].events[0]["ts"] - 50, "dur": 1_050}
    for event in (event for trace in traces for event in trace.events if "Group size" in event["args"]):
        event["args"] |= change
    ask = rows_of(*write_all(tmp_path, traces))
    begins = ask("SELECT DISTINCT rank, begin_ns FROM profile_timeline WHERE slice = 0 ORDER BY rank")
    assert begins == [{"rank": 0, "begin_ns": 0}, {"rank": 1, "begin_ns": 0}]
    assert ask("FROM profile_replays") == []


def test_the_slices_of_a_step_add_up_to_it(tmp_path: Path, table: Any) -> None:
    rows = table("profile_timeline", *write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1)]))
    of_step = [row for row in rows if row["rank"] == 0 and row["step"] == 11]
    assert len(of_step) == kineto.SLICES
    sums = {name: sum(row[name] for row in of_step) for name in of_step[0] if name.endswith("_ns")}
    assert (sums["slice_ns"], sums["compute_ns"]) == (1_000_000, 600_000)
    assert (sums["communication_ns"], sums["exposed_communication_ns"]) == (300_000, 200_000)


def test_the_summary_says_what_a_profiled_step_is(tmp_path: Path, take: Take) -> None:
    said = take(
        *write_all(tmp_path, [two_steps(rank=0), two_steps(rank=1, late=100)]), "--suite", "demo"
    ).output
    assert " ".join(said.split()).count(
        "demo on 2 ranks: a profiled step takes 1 ms, 15.0 % of it exposed communication; computation hides 40 % of "
        "the communication. Without stragglers it would take 0.95 ms instead of 1 ms, which is 1.05 times as long."
    )


ODD_NAME = "aten::<script>alert(1)</script>\x00\n\u202e" + "x" * 10_000


def test_hostile_names_are_stored_as_short_text(tmp_path: Path, table: Any) -> None:
    trace = two_steps(rank=0, world_size=1)
    for event in trace.events:
        if event["cat"] == "kernel" and "Collective name" in event["args"]:
            event["args"] |= {
                "Collective name": ODD_NAME, "Process Group Name": "\ud800" + ODD_NAME, "In msg nelems": "9" * 5_000,
                "Process Group Description": ["no", "text"], "dtype": {}, "External id": -(10**30),
            }  # fmt: skip
    trace.about = {"deviceProperties": [{"name": "\ud800<b>GPU</b>"}, 7]}
    rows = table("profile_collectives", str(trace.write(tmp_path / "rank-0.json")))
    assert {row["op"] for row in rows} == {"all_reduce"}, (
        "the odd call has no id, so the kernel's name counts"
    )


def test_a_hostile_collective_of_a_call_is_short_text(tmp_path: Path, table: Any) -> None:
    trace = two_steps(rank=0, world_size=1)
    for event in trace.events:
        if event["cat"] == "kernel" and "Collective name" in event["args"]:
            event["args"] |= {"Collective name": ODD_NAME, "Process Group Name": "\ud800" + ODD_NAME}
    rows = table("profile_collectives", str(trace.write(tmp_path / "rank-0.json")))
    (op,) = {row["op"] for row in rows}
    assert len(op) <= 200
    assert op.isprintable()


def _without(trace: GpuTrace, **changes: object) -> GpuTrace:
    """The trace with these values in its second kernel."""
    kernels = [event for event in trace.events if event["cat"] == "kernel"]
    kernels[1] |= changes
    return trace


TEXT = json.dumps(two_steps().object())
BROKEN = {
    "cut short": (TEXT[: len(TEXT) // 2], "the file ends too early|not JSON"),
    "cut within its events": (TEXT[: TEXT.index('"traceName"') - 4], "the file ends too early"),
    "a comma too many": (TEXT.replace("}, {", "},, {", 1), "not JSON: Expecting value"),
    "a second trace": (TEXT + TEXT, "something follows the trace"),
    "no colon": ('{"traceEvents" []}', "expected ':'"),
    "an event that is no object": ('{"traceEvents": [7]}', r"traceEvents\[0\]: is no object"),
    "no events": ('{"traceEvents": []}', "no kernel, operator or collective in its 0 events"),
    "nested too deeply": ('{"traceEvents": [' + "[" * 100_000, "nested too deeply|not JSON"),
    "an endless text": ('{"traceName": "' + "x" * 100, "not JSON"),
    "text as time": (json.dumps(_without(two_steps(), ts="soon").object()), r"ts is 'soon', not a number"),
    "no number as time": (json.dumps(_without(two_steps(), ts=float("nan")).object()), "ts is 'None'"),
    "the end of time": (json.dumps(_without(two_steps(), ts=1e300).object()), "not a number of microseconds"),
    "less than nothing": (json.dumps(_without(two_steps(), dur=-1).object()), "dur is -1, below zero"),
    "two clocks": (json.dumps(_without(two_steps(), ts=8e15).object()), "its times are not of one clock"),
    "a rank beyond the world": (
        json.dumps(two_steps(rank=2, world_size=2).object()), "rank 2 in a world of 2: ranks begin at 0",
    ),
    "a rank below zero": (json.dumps(two_steps(rank=-1).object()), "distributedInfo.rank is '-1'"),
    "a world of text": (
        json.dumps(two_steps().object() | {"distributedInfo": {"world_size": "8"}}), "world_size is '8', not a number",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), BROKEN.values(), ids=BROKEN)
def test_a_broken_trace_is_an_error_that_names_the_file(tmp_path: Path, text: str, problem: str) -> None:
    for name, content in (("t.json", text.encode()), ("t.json.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=problem) as caught:
            read_files(ImportRequest(files=(str(path),), suite="demo", kind="trace"))
        assert str(caught.value).startswith(f"{name}: ")


def test_a_damaged_archive_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    whole = two_steps().write(tmp_path / "whole.json.gz").read_bytes()
    for content in (whole[: len(whole) // 2], whole[:40] + b"\0\0\0\0" + whole[44:], whole[:12]):
        path = tmp_path / "rank-0.json.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"^rank-0\.json\.gz: "):
            read_files(ImportRequest(files=(str(path),), suite="demo"))


def test_a_longest_value_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_events, "_LARGEST_VALUE", 10_000)
    monkeypatch.setattr(trace_events, "_PIECE", 1_000)
    path = tmp_path / "t.json"
    path.write_text('{"traceName": "' + "x" * 100_000 + '"}')
    with pytest.raises(InputError, match=r"t\.json: .*a value is longer than"):
        kineto.read(path)


def test_very_many_steps_are_refused(tmp_path: Path) -> None:
    trace = two_steps()
    for number in range(1_000):
        trace.step(100 + number, 0, 1)
    with pytest.raises(
        InputError, match=r"rank-0\.json: traceEvents\[\d+\]: has step 1,001: profile fewer steps"
    ):
        kineto.read(trace.write(tmp_path / "rank-0.json"))


def test_a_text_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_events, "LARGEST_TEXT", 1_000_000)
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(b"{" + b" " * 50_000_000))
    with pytest.raises(InputError, match=r"t\.json\.gz: more than 0 GiB of text"):
        kineto.read(path)


def _together(tmp_path: Path, **traces: GpuTrace) -> ImportRequest:
    files = tuple(str(each.write(tmp_path / f"{name}.json")) for name, each in traces.items())
    return ImportRequest(files=files, suite="demo", kind="trace")


def test_traces_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    for traces, problem in (
        ({"a": two_steps(rank=1), "b": two_steps(rank=1)}, r"b\.json: rank 1 is already in a\.json"),
        (
            {"a": two_steps(), "b": two_steps(rank=1, world_size=4)},
            r"b\.json: a world of 4 ranks, but 2 in a\.json",
        ),
        (
            {"a": two_steps(), "b": GpuTrace(rank=None, events=two_steps().events)},
            r"b\.json: neither the trace",
        ),
    ):
        with pytest.raises(InputError, match=problem):
            read_files(_together(tmp_path, **traces))


def test_a_world_that_contradicts_the_traces_is_refused(tmp_path: Path) -> None:
    path = two_steps(world_size=2).write(tmp_path / "rank-0.json")
    with pytest.raises(InputError, match=r"--world 4: rank-0\.json says 2: leave --world out"):
        read_files(ImportRequest(files=(str(path),), suite="demo", world=4))


def test_a_refused_trace_leaves_nothing_behind(tmp_path: Path, take: Take) -> None:
    good = two_steps(rank=0).write(tmp_path / "rank-0.json.gz")
    bad = tmp_path / "rank-1.json.gz"
    bad.write_bytes(good.read_bytes()[:-20])
    error = take(str(good), str(bad), "--suite", "demo").exception
    assert isinstance(error, InputError)
    assert error.exit_code == 2
    assert str(error).startswith("rank-1.json.gz: the compressed file is damaged or cut short")
    assert not (tmp_path / "r").exists()


def test_traces_and_tables_are_not_imported_together(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("case,scaling,world_size,repeat,seconds,examples\n")
    trace = two_steps().write(tmp_path / "rank-0.json")
    with pytest.raises(InputError, match=r"rank-0\.json: not the same format as t\.csv"):
        read_files(ImportRequest(files=(str(table), str(trace)), suite="demo"))


def test_examples_say_nothing_about_a_trace(tmp_path: Path) -> None:
    trace = two_steps().write(tmp_path / "rank-0.json")
    with pytest.raises(InputError, match="--examples: a trace already says that"):
        read_files(ImportRequest(files=(str(trace),), suite="demo", examples=5))


def test_operators_of_a_host_without_a_gpu_compute(tmp_path: Path) -> None:
    trace = GpuTrace()
    trace.step(3, 0, 100)
    trace.events += [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "tid": 1, "ts": 10, "dur": 30, "args": {}},
        {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "tid": 2, "ts": 20, "dur": 40,
         "args": {"Input Dims": [[5, 4]], "Input type": ["float"]}},
    ]  # fmt: skip
    found = kineto.read(trace.write(tmp_path / "rank-0.json"))
    (step,) = found.steps
    assert not found.on_device
    assert step.profile.compute_ns == 30_000
    assert step.profile.exposed_communication_ns == 20_000
    assert step.profile.collectives["all_reduce"].message_bytes == 80


def test_a_kernel_is_computation_whatever_its_name_is_made_of(tmp_path: Path) -> None:
    trace = GpuTrace()
    trace.kernel(0, 10, launch=None, name=f"{COMPUTE} ncclKernel_AllReduce")
    (step,) = kineto.read(trace.write(tmp_path / "rank-0.json")).steps
    assert step.profile.compute_ns == 10_000
