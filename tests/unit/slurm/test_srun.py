"""srun's command line, word by word; tests/e2e/cluster runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.common.errors import InputError
from bench.slurm.srun import Launch, argv

SUITE = ("smoke", "--tag", "two words")
GO_ON = ["--kill-on-bad-exit=0", "--wait=0"]
STEP = ["suite", *SUITE, "--results", "/scratch/results", "--launcher", "auto"]


def line(environ: dict[str, str] | None = None, **wishes: Any) -> list[str]:
    return argv(Launch(words=("suite", *SUITE), results="/scratch/results", **wishes), environ or {})


def test_from_a_login_node_with_an_image() -> None:
    wished = line(image="bench.sif", nodes=2, gpus_per_node=4, srun=("--mem=0", "--exclusive"))
    assert wished == [
        "srun", *GO_ON, "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--gpus-per-node=4", "--mem=0", "--exclusive",
        "apptainer", "exec", "--nv", "--bind", "/scratch/results", "bench.sif",
        "bench", *STEP,
    ]  # fmt: skip


def test_without_an_image_the_step_runs_this_bench() -> None:
    assert line(gpus_per_node=4) == [
        "srun",
        *GO_ON,
        "--gpus-per-node=4",
        sys.executable,
        "-P",
        "-m",
        "bench",
        *STEP,
    ]


def test_every_folder_that_is_read_is_bound_once() -> None:
    wished = line(image="bench.sif", folders=("/data", "/scratch/results"))
    assert wished[3:9] == ["apptainer", "exec", "--bind", "/scratch/results", "--bind", "/data"]


@pytest.mark.parametrize(
    ("environ", "wishes", "expected"),
    [
        ({}, {}, False),
        ({}, {"gpus_per_node": 0}, False),
        ({}, {"gpus_per_node": 1}, True),
        ({}, {"gpus_per_node": 1, "device": "cuda"}, True),
        ({}, {"gpus_per_node": 1, "device": "cpu"}, False),
        ({}, {"srun": ("--gpus=8",)}, True),
        ({}, {"srun": ("-G8",)}, True),
        ({}, {"srun": ("--gres=gpu:h200:4",)}, True),
        ({}, {"srun": ("--gres=tmpdisk:4",)}, False),
        ({"SLURM_GPUS_ON_NODE": "4"}, {}, True),
        ({"SLURM_GPUS_ON_NODE": "0"}, {}, False),
    ],
)
def test_the_driver_is_bound_where_gpus_are_asked_for(
    environ: dict[str, str], wishes: dict[str, Any], expected: bool
) -> None:
    assert ("--nv" in line(environ, image="bench.sif", **wishes)) is expected


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"srun": ("hostname",)}, "--srun hostname: not an option of srun"),
        ({"image": "docker://debian"}, "`apptainer pull bench.sif docker://debian` first"),
        ({"image": "bench.sif", "folders": ("/data,more",)}, "/data,more: Apptainer's --bind splits paths"),
    ],
)
def test_what_would_be_taken_for_something_else_is_refused(wishes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        line(**wishes)


def bench(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `bench` in `folder` without Slurm's programs on PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "BENCH_"))}
    command = [sys.executable, "-m", "bench", *arguments]
    environment = {**kept, "PATH": str(folder), "PYTHONPATH": str(Path(__file__).parents[3]), **environ}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_dry_run_prints_the_line_with_the_call_as_it_was(tmp_path: Path) -> None:
    call = [
        "suite",
        "smoke",
        "--launcher",
        "srun",
        "--image",
        "b o.sif",
        "--nodes",
        "2",
        "--quick",
        "--set",
        "data.workers=0",
    ]
    done = bench(tmp_path, *call, "--tag", "-x", "--dry-run")
    assert (done.returncode, done.stdout) == (
        0,
        f"mkdir -p {tmp_path}/results && "
        f"srun {' '.join(GO_ON)} --nodes=2 --ntasks=2 --ntasks-per-node=1 "
        f"apptainer exec --bind {tmp_path}/results 'b o.sif' bench suite smoke --quick "
        f"--set data.workers=0 --tag -x --results {tmp_path}/results --launcher auto\n",
    )


def test_the_command_of_bench_run_comes_last(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    call = [
        "run",
        "--world",
        "1,2",
        "--launcher",
        "srun",
        "--nodes",
        "2",
        "--env",
        "A=b c",
        "--image",
        "b.sif",
    ]
    done = bench(tmp_path, *call, "--isolate", "--dry-run", "--", "python", "train.py", "--nodes", "9")
    assert (done.returncode, done.stdout) == (
        0,
        f"mkdir -p {tmp_path}/results && "
        f"srun {' '.join(GO_ON)} --nodes=2 --ntasks=2 --ntasks-per-node=1 "
        f"apptainer exec --bind {tmp_path}/results --bind {tmp_path} b.sif bench run --world 1,2 --env 'A=b c' "
        f"--isolate --results {tmp_path}/results --launcher auto -- python train.py --nodes 9\n",
    )


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        (["smoke", "--nodes", "2", "--srun=--mem=0"], {}, "--nodes, --srun: needs --launcher srun"),
        (["smoke", "--launcher", "srun"], {}, "srun is not on PATH: call it on a login node"),
        (
            ["smoke", "--launcher", "srun", "--nodes", "2"],
            {"APPTAINER_CONTAINER": "/images/bench.sif"},
            "inside a container: srun is called on the host, and starts the container on every node. Type there:\n"
            "  mkdir -p ",
        ),
        (
            ["smoke", "--launcher", "srun"],
            {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"},
            "--launcher srun inside a step (7.0): its tasks are started already, leave --launcher out",
        ),
        (["smokey", "--launcher", "srun"], {}, "unknown suite 'smokey'"),
        (["smoke", "--launcher", "srun", "--case", "none"], {}, "none"),
        (["--launcher", "srun"], {}, "there is nothing to run: name a suite"),
    ],
)
def test_what_cannot_start_says_why_and_leaves_nothing(
    tmp_path: Path, arguments: list[str], environ: dict[str, str], said: str
) -> None:
    done = bench(tmp_path, "suite", *arguments, **environ)
    assert (done.returncode, said in done.stderr, list(tmp_path.iterdir())) == (2, True, []), done.stderr
