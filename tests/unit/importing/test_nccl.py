"""Output of nccl-tests: published figures, in its table and in the JSON that its src/util.cu writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.importing.import_session import ImportRequest, read_files

ROOT = Path(__file__).parents[3]
TABLE = (ROOT / "docs/examples/nccl_all_reduce.txt").read_text(encoding="utf-8")

V100 = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 10 iters: 100 validation: 0
#
# Using devices
#   Rank  0 Pid  14926 on v100-gpu-1 device  0 [0x00] Tesla V100-PCIE-16GB
#   Rank  1 Pid   9210 on v100-gpu-5 device  0 [0x00] Tesla V100-PCIE-16GB

v100-gpu-1:14926:14926 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]
#
#                                                     out-of-place                       in-place
#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float       0    45.82    0.00    0.00    N/A    38.17    0.00    0.00    N/A
# Out of bounds values : 0 OK
"""
"""From github.com/NVIDIA/nccl-tests/issues/82, a version without groups, program name and column redop."""

GB10 = """\
# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 17179869184 maxBytes 17179869184 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1
#
# Using devices
#  Rank  0 Group  0 Pid 1935208 on      spark device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid 1278829 on spark-3995 device  0 [000f:01:00] NVIDIA GB10
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
 17179869184    2147483648     float    none      -1   453650   37.87   18.94       0   410049   41.90   20.95       0
# Out of bounds values : 0 OK
"""
"""From github.com/NVIDIA/dgx-spark-playbooks/issues/25."""


def as_json(table: str, *, gpus_per_process: int = 1) -> dict:
    """The object that nccl-tests would have written in addition to this table, with the table's digits."""
    lines = [line.split() for line in table.splitlines()]
    devices = [line for line in lines if line[1:2] == ["Rank"]]
    rows = [line for line in lines if line and line[0].isdigit()]
    return {
        "version": 2,
        "start_time": "2025-01-31 11:22:33",
        "args": ["/opt/src/nccl-tests/build/all_reduce_perf", "-b", "8", "-J", "out.json"],
        "env": ["HOME=\\/root", "WANDB_API_KEY=hunter2"],
        "nccl_version": 22703,
        "config": {
            "nthreads": 1, "ngpus": gpus_per_process, "minimum_bytes": 8, "maximum_bytes": 8589934592, "step_factor": 2,
            "warmup_iters": 5, "iterations": 20, "aggregated_iterations": 1, "validation": 1, "graph": 0,
            "blocking_collectives": "false", "per_iter_timing": "false", "parallel_init": "false",
            "devices": [
                {"rank": int(line[2]), "group": int(line[4]), "pid": int(line[6]), "hostname": line[8],
                 "device": int(line[10]), "device_hex": line[11].strip("[]"), "device_info": " ".join(line[12:])}
                for line in devices[::gpus_per_process]
            ],
        },
        "results": [
            {
                "size": int(row[0]), "count": int(row[1]), "type": row[2], "redop": row[3], "root": f"{row[4]:>6}",
                **{
                    side: {"time": float(cells[0]), "alg_bw": float(cells[1]), "bus_bw": round(
                        int(row[0]) / float(cells[0]) / 1e3 * 1.875, 6), "nwrong": 0.0}
                    for side, cells in (("out_of_place", row[5:9]), ("in_place", row[9:13]))
                },
                "actual_iterations": 20, "experiment_name": "AllReduce",
            }
            for row in rows
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 117.1, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2025-01-31 11:23:33",
    }  # fmt: skip


def test_a_table_becomes_one_run_with_a_row_per_size(read):
    (run,) = read(TABLE, "t.txt").rows
    assert (run.case, run.op, run.world_size, run.nodes, run.repeat) == ("all_reduce", "all_reduce", 16, 2, 0)
    assert run.device_name == "NVIDIA H100 80GB HBM3"
    rows = run.rows()
    assert [row["message_bytes"] for row in rows] == [1024 * 8**n for n in range(8)]
    assert {(row["rank"], row["node"], row["iteration"]) for row in rows} == {(None, None, 0)}
    last = rows[-1]
    assert last["time_ns"] == 12_646_000
    assert last["algorithm_gbps"] == pytest.approx(169.81, abs=0.01)
    assert last["bus_gbps"] == pytest.approx(318.40, abs=0.02)


def test_bandwidths_have_the_digits_of_the_time_where_the_table_prints_nearly_none(read):
    first = read(TABLE, "t.txt").rows[0].rows()[0]
    assert first["algorithm_gbps"] == pytest.approx(1024 / 147_100)
    assert first["bus_gbps"] == pytest.approx(1024 / 147_100 * 1.875)


@pytest.mark.parametrize("gpus_per_process", [1, 8])
def test_json_says_the_same_as_the_table(read, gpus_per_process):
    (of_table,) = read(TABLE, "t.txt").rows
    (run,) = read(json.dumps(as_json(TABLE, gpus_per_process=gpus_per_process)), "t.json").rows
    assert run.rows() == of_table.rows()
    assert (run.size, run.devices) == (of_table.size, of_table.devices)
    assert run.fingerprint == {
        "device_type": "cuda", "gpu": "NVIDIA H100 80GB HBM3", "nccl": "2.27.3", "transport": "nccl",
    }  # fmt: skip


def test_old_versions_and_other_operations_are_read(read):
    (old,) = read(V100, "broadcast_2nodes.txt").rows
    assert (old.op, old.world_size, old.nodes, old.nccl) == ("broadcast", 2, 2, None)
    assert old.rows()[0]["bus_gbps"] == old.rows()[0]["algorithm_gbps"] == 8 / 45_820
    (new,) = read(GB10, "t.txt").rows
    assert (new.op, new.nccl, new.device_name) == ("all_gather", "2.28.3", "NVIDIA GB10")
    assert new.rows()[0]["bus_gbps"] == pytest.approx(18.94, abs=0.01)


@pytest.mark.parametrize(
    "label",
    ["0: ", " 0: ", "  0: ", "[0] ", "[rank0]:", "[default0]:", "[1,0]<stdout>:", "[1,0]<stdout>: ",
     "[prterun-n1-77@1,0]<stdout>: ", "\x1b[36m[rank0]:\x1b[0m "],
)  # fmt: skip
def test_what_launchers_put_before_lines_is_passed_over(read, label):
    text = "".join(f"{label}{line}\n" for line in TABLE.splitlines())
    assert read(text, "t.txt").rows[0].rows() == read(TABLE, "t.txt").rows[0].rows()


def _with_wrong(text, column, count):
    """The table with wrong elements in its last row: in the ninth or the thirteenth column."""
    *lines, last, end = text.splitlines()
    cells = last.split()
    cells[column - 1] = count
    return "\n".join([*lines, "  ".join(cells), end, ""])


@pytest.mark.parametrize("column", [9, 13])
def test_wrong_elements_in_a_row_are_refused_whatever_the_end_says(read, column):
    assert read(_with_wrong(GB10, column, "N/A"), "t.txt").rows
    with pytest.raises(
        InputError, match="line 12: 524288 wrong elements: a speed with wrong results means nothing"
    ):
        read(_with_wrong(GB10, column, "524288"), "t.txt")


def test_wrong_elements_of_either_half_are_refused_in_json(read):
    whole = as_json(TABLE)
    whole["results"][2]["in_place"]["nwrong"] = 3.0
    with pytest.raises(InputError, match=r"results\[2\].out_of_place: 3.0 wrong elements"):
        read(json.dumps(whole), "t.json")


def test_a_table_without_its_end_is_refused(read):
    with pytest.raises(InputError, match="nccl-tests did not come to its end"):
        read(GB10.partition("# Out of bounds")[0], "t.txt")


def test_a_size_that_is_timed_again_is_an_iteration_and_a_file_a_repeat(tmp_path):
    twice = as_json(TABLE)
    twice["results"] *= 2
    (tmp_path / "a.json").write_text(json.dumps(twice))
    (tmp_path / "b.txt").write_text(TABLE)
    (tmp_path / "c.txt").write_text(GB10)
    files = tuple(str(tmp_path / name) for name in ("a.json", "b.txt", "c.txt"))
    found = read_files(ImportRequest(files=files, suite="demo"))
    assert [(run.case, run.repeat) for run in found.rows] == [
        ("all_reduce", 0),
        ("all_reduce", 1),
        ("all_gather", 0),
    ]
    assert [row["iteration"] for row in found.rows[0].rows()] == 8 * [0] + 8 * [1]


def test_in_place_figures_are_taken_where_there_are_no_others_and_said_to_be(read):
    whole = as_json(TABLE)
    for one in whole["results"]:
        one["out_of_place"] = None
    (run,) = read(json.dumps(whole), "t.json").rows
    assert (run.case, run.op) == ("all_reduce_in_place", "all_reduce")
    assert run.rows()[-1]["time_ns"] == 12_641_000


def test_empty_messages_are_left_out(read):
    figures = "    135.8    0.00    0.00      0"
    empty = f"           0             0     float     sum      -1{figures}{figures}\n"
    heading = "(us)  (GB/s)  (GB/s)\n"
    text = TABLE.replace(heading, heading + empty)
    assert text != TABLE
    assert len(read(text, "t.txt").rows[0].timings) == 8


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    sum      -1    147.1", "    sum      -1     fast", "line 25: 'fast' is not a number"),
        ("    sum      -1    147.1", "    sum      -1     -1.0", "line 25: time is -1 us: no operation can take that"),
        ("0.01    0.01      0    123.1    0.01    0.02      0", "0.01", "line 25: 7 cells, the heading has 13"),
        ("318.40", "340.00", "line 32: bus bandwidth is 340 GB/s, but 2,147,483,648 bytes in 12646 us"),
        ("all_reduce_perf", "all_gather_perf", "line 27: bus bandwidth is 0.77 GB/s"),
        ("all_reduce_perf", "alltoall_perf", "alltoall is not supported: all_reduce, all_gather, reduce_sc"),
        ("all_reduce_perf", "something", "does not say which operation it timed: name the file after it"),
        ("(us)", "(ms)", "line 24: does not say that times are in (us)"),
        ("  time ", "cputime ", "line 25: has the CPU's time to launch the operation"),
        ("#  Rank  7 ", "#  Bank  7 ", "has 15 lines `#  Rank  0 ... on HOST device"),
        ("Rank  7 Group  0", "Rank  7 Group  1", "2 groups of ranks communicated at the same time"),
        ("values : 0 OK", "values : 3 FAILED", "line 33: 3 wrong elements: a speed with wrong results means nothing"),
        ("524288        131072     float", "524288        131072      half", "2 choices of element type"),
        ("ztan-mig-gq73 device  7", "third device  7", "devices: 16 ranks do not divide among 3 nodes"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_meant_is_refused_by_its_line(refusal, old, new, said):
    text = TABLE.replace(old, new)
    assert text != TABLE
    assert said in refusal(text, "t.txt")


def test_more_ranks_than_there_can_be_are_refused(refusal):
    whole = as_json(TABLE)
    whole["config"] |= {"nthreads": 4_096, "ngpus": 4_096, "devices": whole["config"]["devices"][:1]}
    assert "config makes 16,777,216 ranks, more than 1,000,000" in refusal(json.dumps(whole), "t.json")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("results", 3, "out_of_place", "time"), "nan", "results[3].out_of_place: time is not a number"),
        (("results", 3, "out_of_place", "time"), 0, "results[3].out_of_place: time is 0 us"),
        (("results", 3, "out_of_place", "time"), 10**400, "results[3].out_of_place: time is 1000"),
        (("results", 3, "out_of_place", "bus_bw"), 99.0, "results[3].out_of_place: bus bandwidth is 99 GB/s"),
        (("results", 3, "out_of_place", "nwrong"), 7.0, "results[3].out_of_place: 7.0 wrong elements"),
        (("results", 3, "out_of_place", "cpu_time"), 7.0, "has the CPU's time"),
        (("results", 3, "out_of_place"), None, "results[3]: out_of_place is not an object"),
        (("results", 3, "size"), -8, "results[3]: size is -8, not within 0"),
        (("results", 3), "x", "results[3]: size is not a whole number"),
        (("results", 3, "type"), "half", "2 choices of element type"),
        (("results",), [], "no message size was timed"),
        (("results",), {}, "results is not a list"),
        (("config",), [], "config is not an object"),
        (("config", "ngpus"), 2, "config.devices has ranks [0, 1, 2, 3,"),
        (("config", "ngpus"), 2**70, "config.ngpus is 1180591620717411303424, not within 1 and 4,096"),
        (("config", "ngpus"), True, "config.ngpus is not a whole number"),
        (("config", "devices"), [], "config.devices has ranks []"),
        (("config", "devices", 2, "hostname"), None, "config.devices[2].hostname is not text"),
        (("config", "devices", 2, "device_info"), "\ud800", "config.devices[2].device_info is not a text of at most"),
        (("config", "devices", 2, "device_info"), "x" * 201, "config.devices[2].device_info is not a text of at most"),
        (("args",), [], "does not say which operation it timed"),
    ],
    ids=str,
)  # fmt: skip
def test_json_that_cannot_be_meant_is_refused_by_its_place(refusal, path, value, said):
    whole = as_json(TABLE)
    *parents, last = path
    inside = whole
    for name in parents:
        inside = inside[name]
    inside[last] = value
    assert said in refusal(json.dumps(whole), "t.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(as_json(TABLE))[:-200], "not JSON (Expecting"),
        ("{" + '"a":{' * 100_000, "t.json: "),
        ('{"config": Infinity}', "holds Infinity"),
        ('{"config": ' + "9" * 5_000 + "}", "not JSON of nccl-tests"),
        ('{"sequence": []}', "JSON, but not of nccl-tests: no `config` and `results`"),
    ],
    ids=["half a file", "nested", "infinity", "long number", "another program's"],
)
def test_other_json_is_refused(refusal, text, said):
    assert said in refusal(text, "t.json")


def test_options_that_would_change_nothing_are_refused(refusal):
    assert "--world: output of nccl-tests already says that: leave it out" in refusal(TABLE, "t.txt", world=4)
    assert "--strategy: output" in refusal(TABLE, "t.txt", strategy="ddp")


def test_other_formats_are_not_imported_beside_it(tmp_path):
    (tmp_path / "a.txt").write_text(TABLE)
    (tmp_path / "b.out").write_text("Total training time: 95 s\nGPUs: 4\n")
    with pytest.raises(ValueError, match="2 files: only logs or output of nccl-tests"):
        read_files(ImportRequest(files=(str(tmp_path / "a.txt"), str(tmp_path / "b.out")), suite="demo"))
