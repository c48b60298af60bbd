"""Tasks that Open MPI, MPICH and torchrun start on this machine meet and run one session together; so do the jobs of
docs/examples/jobs that call mpiexec."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.faulty_sessions import ddp, outcome, suite_file
from tests.e2e.processes import BENCH, KEEPS_GARBAGE, Marked

SCRIPT = f"""{KEEPS_GARBAGE}
import torch
from torch import distributed, nn

distributed.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(100):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--no-python"]
STARTED_BY = {
    # as root, and with more tasks than cores on a small machine
    "mpiexec.openmpi": ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"],
    "mpiexec.mpich": ["-n", "2"],
}


@pytest.fixture(params=[*STARTED_BY, "torchrun"])
def launcher(request: pytest.FixtureRequest, require_program: Callable[[str], str]) -> list[str]:
    """The words that start two tasks of the command after them."""
    name: str = request.param
    return TORCHRUN if name == "torchrun" else [require_program(name), *STARTED_BY[name]]


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return Marked(tmp_path)


def start(marked: Marked, folder: Path, launcher: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in marked.environment.items() if not name.startswith("SLURM_")}
    return subprocess.run(
        [*launcher, *BENCH, words[0], "--results", str(folder / "r"), *words[1:]],
        cwd=folder, env=outside, text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip


def test_two_tasks_run_a_suite_and_a_script_together(
    launcher: list[str], tmp_path: Path, marked: Marked
) -> None:
    """The script runs as if its ranks were torchrun's: no variable of the launcher confuses it."""
    (tmp_path / "train.py").write_text(SCRIPT)
    script = {
        "name": "command", "world": [2], "measure": {"warmup": 2, "steps": 6},
        "workload": {"name": "command", "command": [sys.executable, "train.py"]},
    }  # fmt: skip
    suite = suite_file(tmp_path, [ddp("alone", world=1), ddp("both", world=2), script])
    done = start(
        marked,
        tmp_path,
        launcher,
        "suite",
        str(suite),
        "--session",
        "s",
        "--ranks-per-node",
        "2",
        "--order",
        "fixed",
        "--no-load",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("waiting for 1 other task of this step") == 1
    for run in ("alone.1x1.r0", "both.1x2.r0", "command.1x2.r0"):
        assert outcome(tmp_path / "r", "s", run)["status"] == "ok"
    head = json.loads((tmp_path / "r" / "s" / "session.json").read_text())
    assert (head["slots"]["nodes"], head["slots"]["slots_per_node"]) == (1, 2)
    # each task has hosted one of the two ranks
    environment = head["environment"]["0"]
    assert (environment["task0_slots"], environment["task1_slots"]) == ("1", "1")
    assert environment["launcher_tasks"] == "2"
    assert environment["launcher"] in ("Open MPI", "MPICH", "torchrun")
    assert [path.name for path in (tmp_path / "r").glob(".step-*")] == []
    assert marked.left() == []


EXAMPLES = Path(__file__).parents[2] / "docs/examples/jobs"


def example(name: str, folder: Path, changed: dict[str, str]) -> Path:
    """A copy of the script with these lines, by their beginnings. It runs this checkout with a short suite."""
    ours = {"suite=": "suite=(smoke --quick --repeats 1 --case ddp_strong --device cpu --world 2)"}
    ours |= {"bench=": f"bench=({shlex.join(BENCH)})", "session=": "session=s", **changed}
    lines = (EXAMPLES / name).read_text().splitlines()
    for begins, line in ours.items():
        (at,) = (number for number, text in enumerate(lines) if text.startswith(begins))
        lines[at] = line
    (folder / name).write_text("\n".join([*lines, ""]))
    return folder / name


def with_mpiexec(folder: Path, program: str) -> dict[str, str]:
    """Variables with which `mpiexec` is this program, and Open MPI's may be called by root."""
    mpiexec = folder / "programs/mpiexec"
    mpiexec.parent.mkdir()
    mpiexec.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    mpiexec.chmod(0o755)
    path = f"{mpiexec.parent}:{os.environ['PATH']}"
    return {"PATH": path, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.mark.parametrize(
    ("program", "each_node"), [("openmpi", "--oversubscribe --bind-to none"), ("mpich", "-ppn 1")]
)
def test_the_example_for_mpiexec_runs_a_suite_on_two_tasks_and_reports_it(
    program: str, each_node: str, tmp_path: Path, marked: Marked, require_program: Callable[[str], str]
) -> None:
    """Both tasks are on this machine, which Open MPI's option for one task on each node would refuse."""
    job = example("mpi.sh", tmp_path, {"each_node=": f"each_node=({each_node})"})
    variables = {name: value for name, value in marked.environment.items() if not name.startswith("SLURM_")}
    variables |= with_mpiexec(tmp_path, require_program(f"mpiexec.{program}"))
    done = subprocess.run(
        ["bash", job], cwd=tmp_path, env=variables, text=True, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    head = json.loads((tmp_path / "results/s/session.json").read_text())
    assert head["environment"]["0"]["launcher_tasks"] == "2"
    assert outcome(tmp_path / "results", "s", "ddp_strong.1x2.r0")["status"] == "ok"
    assert (tmp_path / "results/public/s.html").exists()
    assert marked.left() == []


GRID_ENGINE = Path(__file__).with_name("grid_engine.sh")
ALONE = ["--net", "--uts", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def test_jobs_of_grid_engine_run_a_script_with_its_slots_and_the_example(
    tmp_path: Path, marked: Marked, require_program: Callable[[str], str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a Grid Engine in namespaces of its own")
    require_program("qsub")
    (tmp_path / "train.py").write_text(SCRIPT)
    words = shlex.split(
        "run --no-load --results r --session s --world 2 --repeats 1 --warmup 2 --steps 6 --ranks-per-node 2"
    )
    command = shlex.join([*BENCH, *words, "--", sys.executable, "train.py"])
    (tmp_path / "slots.sh").write_text(f"mpiexec --bind-to none -n $NSLOTS {command}\n")
    example("gridengine.sh", tmp_path, {"#$ -pe mpi": "#$ -pe mpi 2"})
    (tmp_path / "grid").mkdir()
    submit = "qsub -sync y -V -cwd -pe mpi 2 -j y -o slots.log slots.sh && qsub -sync y -V -o job.log gridengine.sh"
    variables = marked.environment | with_mpiexec(tmp_path, require_program("mpiexec.openmpi"))
    done = subprocess.run(
        [require_program("unshare"), *ALONE, str(GRID_ENGINE), str(tmp_path / "grid"), "bash", "-c", submit],
        cwd=tmp_path, env=variables, text=True, capture_output=True, check=False, timeout=600,
    )  # fmt: skip
    said = "".join(log.read_text() for log in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stdout + done.stderr + said
    assert outcome(tmp_path / "r", "s", "command.1x2.r0")["status"] == "ok"
    head = json.loads((tmp_path / "r" / "s" / "session.json").read_text())
    assert head["environment"]["0"]["launcher"] == "Open MPI"
    assert head["environment"]["0"]["launcher_tasks"] == "2"
    assert outcome(tmp_path / "results", "s", "ddp_strong.1x2.r0")["status"] == "ok"
    assert (tmp_path / "results/public/s.html").exists()
    assert marked.left() == []


def test_tasks_on_two_nodes_meet_without_being_told_their_names(
    tmp_path: Path, marked: Marked, require_program: Callable[[str], str]
) -> None:
    """The second task is on this machine under another name, which has no address."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a task another host name")
    suite = suite_file(tmp_path, [ddp("across", world="2x1")])
    words = ["suite", str(suite), "--session", "s", "--ranks-per-node", "1", "--results", str(tmp_path / "r")]
    words.append("--no-load")
    renamed = [require_program("unshare"), "--uts", "sh", "-c", 'hostname elsewhere.invalid; exec "$@"', "sh"]
    tasks = []
    for task, prefix in enumerate(([], renamed)):
        variables = {"BENCH_TASK": str(task), "BENCH_TASKS": "2", "BENCH_LAUNCH": "two nodes"}
        tasks.append(
            subprocess.Popen(
                [*prefix, *BENCH, *words], env=marked.environment | variables, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        )  # fmt: skip
    ended = [task.communicate(timeout=300) for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], ended
    assert outcome(tmp_path / "r", "s", "across.2x1.r0")["status"] == "ok"
    head = json.loads((tmp_path / "r" / "s" / "session.json").read_text())
    assert head["slots"]["nodes"] == 2
    assert marked.left() == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="nothing can be bound to one of one CPU")
def test_open_mpi_that_binds_a_task_to_one_core_is_told(
    tmp_path: Path, marked: Marked, require_program: Callable[[str], str]
) -> None:
    binding = [require_program("mpiexec.openmpi"), "--allow-run-as-root", "--bind-to", "core", "-n", "1"]
    done = start(marked, tmp_path, binding, "suite", "no_such_suite")
    assert done.returncode == 2
    assert "Open MPI lets its tasks use 1 of the " in done.stderr


def test_a_task_with_a_wrong_index_is_told(tmp_path: Path, marked: Marked) -> None:
    marked.environment |= {"BENCH_TASK": "2", "BENCH_TASKS": "2"}
    done = start(marked, tmp_path, [], "suite", "smoke")
    assert (done.returncode, done.stdout) == (2, "")
    assert "BENCH_TASK=2 and BENCH_TASKS=2: the tasks are 0 to 1" in done.stderr


def test_a_launch_without_a_name_asks_for_one(tmp_path: Path, marked: Marked) -> None:
    marked.environment |= {"BENCH_TASK": "1", "BENCH_TASKS": "2"}
    done = start(marked, tmp_path, [], "suite", "smoke")
    assert (done.returncode, done.stdout) == (2, "")
    assert "give all of them the same --session NAME, or set BENCH_LAUNCH" in done.stderr


def test_one_task_of_a_launcher_is_a_plain_bench(tmp_path: Path, marked: Marked) -> None:
    marked.environment |= {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}
    done = start(marked, tmp_path, [], "run", "--session", "s", "--no-load", "--world", "1", "--", "true")
    assert done.returncode == 1, done.stdout + done.stderr
    assert outcome(tmp_path / "r", "s", "command.1x1.r0")["error"].startswith(
        "the command ended without an error"
    )
    assert "other task" not in done.stderr
