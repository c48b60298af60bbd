"""Slurm logs: one file is one training."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bench.common.errors import InputError
from bench.importing.import_session import ImportRequest, read_files

LOG = "Job ID: 123457\nNumber of tasks: 4\nNumber of nodes: 2\nloss=0.1\nTotal training time: 95.23 s\n"


@pytest.fixture
def logs(tmp_path):
    def run(files: Mapping[str, str], *named: str, **wishes):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        paths = tuple(str(tmp_path / name) for name in named or files)
        return read_files(ImportRequest(**{"files": paths, "suite": "demo", **wishes})).rows

    return run


def test_a_log_is_one_training(logs):
    text = (
        LOG + "Time per epoch: 1.90 seconds\nBest validation loss: 0.0123\nBest validation accuracy: 95.25%\n"
    )
    (row,) = logs({"a.out": text})
    assert (row.case, row.scaling, row.world_size, row.nodes, row.repeat) == ("demo", "strong", 4, 2, 0)
    assert (row.seconds, row.epochs, row.job_id, row.place) == (95.23, 50, "123457", "a.out")
    assert (row.val_loss, row.val_accuracy) == (0.0123, pytest.approx(0.9525))


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Total training time: 362.45 seconds (6.04 minutes)", 362.45),
        ("[rank0] INFO: total training time = 6.5 min.", 390.0),
        ("0: Total training time: 1.5h", 5400.0),
        ("Total training time: 0:06:02", 362.0),
        ("Total training time: 362.45 s\nTotal training time: 362.45 s", 362.45),
        ("Total training time: 1h 23m 45s", 5025.0),
        ("Total training time: 1 h 23 min", 4980.0),
        ("Total training time: 5 min 30 sec.", 330.0),
        ("Total training time: 2 hours, 5 minutes and 9.5 seconds", 7509.5),
        ("Total training time: 1 day, 2:03:04", 93784.0),
        ("Total training time: 1-02:03:04", 93784.0),
        ("Total training time: 3m", 180.0),
        ("Total training time: 95.23 seconds, 50 epochs", 95.23),
        ("Total training time: 95.23 s | loss 0.3", 95.23),
        ("\x1b[32mTotal training time:\x1b[0m \x1b[1m95.23\x1b[0m seconds", 95.23),
        ("\x1b]8;;file\x1b\\Total training time: 95.23 s\x1b[K", 95.23),
        ("[prterun-n1-77@1,0]<stdout>: Total training time: 95.23 s", 95.23),
    ],
)
def test_its_time_is_read_however_it_is_written(logs, line, seconds):
    assert logs({"a.out": f"GPUs: 1\n{line}\n"})[0].seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    "line",
    ["World size: 4", "WORLD_SIZE=4", "world_size = 4", "SLURM_NTASKS=4", "  SLURM_NTASKS: 4", "Number of tasks: 4",
     "GPUs: 4", "Total GPUs: 4", "Total GPUs: 4\nGPUs per node: 2\nNumber of GPUs: 2"],
)  # fmt: skip
def test_its_size_is_read_from_the_log(logs, line):
    assert logs({"a.out": f"{line}\nTotal training time: 1 s\n"})[0].world_size == 4


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("run_4gpu.log", (4, 1)),
        ("16GPUs-2nodes.txt", (16, 2)),
        ("a100-8-gpu.out", (8, 1)),
        ("x_2node_8gpus.log", (8, 2)),
        ("np16.log", (16, 1)),
        ("ngpu8.log", (8, 1)),
        ("nodes4_ntasks-16.log", (16, 4)),
        ("world_size=32.log", (32, 1)),
    ],
)
def test_or_from_its_name(logs, name, size):
    (row,) = logs({name: "Total training time: 1 s\n"})
    assert (row.world_size, row.nodes) == size


@pytest.mark.parametrize(
    ("time", "why"),
    [
        ("1h 23 minutos", "'23 minutos' cannot follow"),
        ("30 s 5 min", "'5 min' cannot follow"),
        ("5 min 30", "'30' follows it"),
        ("1h23", "'23' follows it"),
        ("95.23 s/epoch", "'/epoch' follows it"),
        ("1:23", "is not a number"),
    ],
)
def test_a_time_is_read_whole_or_refused(logs, time, why):
    with pytest.raises(InputError, match=why):
        logs({"a.out": f"GPUs: 1\nTotal training time: {time}\n"})


def test_where_name_and_log_disagree_it_asks_and_the_option_decides(logs):
    text = {"run_4gpu.log": "WORLD_SIZE: 1\nTotal training time: 1 s\n"}
    with pytest.raises(InputError, match="is 1 by a line, but 4 by the file's name: give --world N"):
        logs(text)
    assert logs(text, world=2)[0].world_size == 2


@pytest.mark.parametrize(
    "name",
    ["gpu2.log", "rank3.log", "rtx4090gpu.log", "8gpus_per_node.log", "a100_80gb.log", "slurm-8.out",
     "4gpus_of_8gpus.log", "2x4.log", "job4gpu.out"],
)  # fmt: skip
def test_a_number_that_may_count_something_else_is_no_size(logs, name):
    with pytest.raises(InputError, match="has no size such as `4gpu`, or several"):
        logs({name: "Total training time: 1 s\n"})


def test_a_number_of_nodes_in_the_name_that_a_line_contradicts_is_a_question(logs):
    text = {"2nodes.log": "GPUs: 8\nNumber of nodes: 4\nTotal training time: 1 s\n"}
    with pytest.raises(InputError, match="the number of nodes is 4 by a line, but 2 by the file's name"):
        logs(text)


def test_several_logs_are_sizes_and_repeats_of_one_case(logs):
    rows = logs(
        {f"{name}_{size}gpu.out": f"Total training time: {size}.5 s\n" for name in "ab" for size in (8, 1)},
        strategy="ddp",
        examples=100,
        case="mine",
    )
    assert [(row.world_size, row.repeat, row.place) for row in rows] == [
        (1, 0, "a_1gpu.out"), (1, 1, "b_1gpu.out"), (8, 0, "a_8gpu.out"), (8, 1, "b_8gpu.out"),
    ]  # fmt: skip
    assert {(row.case, row.strategy, row.examples) for row in rows} == {("mine", "ddp", 100)}


def test_a_pattern_that_no_shell_expanded_stands_for_its_files(logs):
    files = {f"slurm-{job}_{job}gpu.out": "Total training time: 9 s\n" for job in (1, 2)}
    rows = logs(files | {"other.txt": "no"}, "slurm-*.out")
    assert [(row.world_size, row.job_id) for row in rows] == [(1, "1"), (2, "2")]


def test_of_several_bests_the_best_counts(logs):
    text = LOG + "Best validation loss: 0.5\nBest validation loss: 0.2\nBest validation loss: 0.3\n"
    assert logs({"a.out": text})[0].val_loss == 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            LOG + "Total training time: 95.4 s\n",
            "a.out, line 6: another value for Total training time than on line 5 (95.4 s, 95.23 s): one training per "
            "file",
        ),
        (
            LOG + "WORLD_SIZE: 1\n",
            "a.out, line 6: another value for the number of ranks than on line 2 (1, 4): give --world N",
        ),
        (
            LOG.replace(" s\n", "\n"),
            "a.out, line 5: 95.23 has no unit, neither here nor in the heading: write 95.23 s or 95.23 min",
        ),
        (LOG + "Best validation loss: nan\n", "a.out, line 6: 'nan' is not a finite number"),
        (
            LOG + "Best validation accuracy: 95.3\n",
            "a.out, line 6: 95.3 is not a fraction from 0 to 1: write 0.953",
        ),
        (
            LOG.replace("Number of tasks", "CPUs"),
            "a.out: no line `World size: 4`, `SLURM_NTASKS=4`, `Number of tasks: 4` or `GPUs: 4`, and the file's "
            "name has no size such as `4gpu`, or several: give --world N",
        ),
        (LOG.replace("95.23", "1,234.5"), "a.out, line 5: '1,234.5' has a separator between thousands: write 1234.5"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_file_and_line(logs, text, message):
    with pytest.raises(InputError) as caught:
        logs({"a.out": text})
    assert str(caught.value) == f"a.out: 1 problem, nothing was imported:\n  {message}"


def test_every_log_without_a_time_is_named(logs):
    files = {"a.out": LOG, "b.out": "srun: error\n", "c.out": "World size: 8\n"}
    with pytest.raises(InputError) as caught:
        logs(files, kind="log")
    lacks = "no line `Total training time: 362.45 s`"
    assert str(caught.value).splitlines() == [
        "3 logs: 3 problems, nothing was imported:",
        f"  b.out: {lacks}",
        "  b.out: no line `World size: 4`, `SLURM_NTASKS=4`, `Number of tasks: 4` or `GPUs: 4`, and the file's name "
        "has no size such as `4gpu`, or several: give --world N",
        f"  c.out: {lacks}",
    ]


def test_a_crashed_log_among_whole_ones_is_an_error_and_no_gap(logs):
    with pytest.raises(InputError, match=r"^b\.out: neither a CSV"):
        logs({"a.out": LOG, "b.out": "srun: error: task 0 was killed\n"})


def test_tables_come_one_at_a_time(logs):
    table = "GPUs  Time (s)\n1  2\n"
    with pytest.raises(InputError, match="only logs or output of nccl-tests"):
        logs({"a.txt": table, "b.txt": table})


def test_a_file_that_is_not_there_is_named(logs, tmp_path):
    with pytest.raises(InputError) as caught:
        logs({}, "no*.out")
    assert str(caught.value) == f"{tmp_path}/no*.out: there is no such file"
