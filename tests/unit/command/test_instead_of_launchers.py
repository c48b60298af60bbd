"""The command of `bench run` that takes the place of a launcher's."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from bench.command import launchers

OPTIONS: dict[str, Any] = {"command": ["bash", "my train.sh"], "cwd": None, "env": {}, "isolate": False}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "none"))
    return tmp_path


def said(line: str) -> str:
    found = launchers.instead_of(shlex.split(line), None, {})
    assert found is not None
    return found


TORCHRUN = [
    ("torchrun --nproc_per_node 4 train.py --lr 1", "--world 4 -- python train.py --lr 1"),
    ("torchrun --nproc-per-node=4 train.py --name 'a b'", "--world 4 -- python train.py --name 'a b'"),
    ("torchrun --nproc-per 4 -r 3 -t2 train.py", "--world 4 -- python train.py"),
    ("torchrun --nproc-per-node gpu train.py", "-- python train.py"),
    ("torchrun --nproc-per-node auto --nnodes 2 train.py", "-- python train.py"),
    ("torchrun --nnodes 2 --node_rank 0 --nproc-per-node 4 train.py", "--world 2x4 -- python train.py"),
    ("torchrun --nnodes 1:4 --nproc-per-node 4 train.py", "-- python train.py"),
    ("torchrun --standalone --rdzv-backend c10d --rdzv_endpoint=h:1 train.py", "-- python train.py"),
    (
        "torchrun --nproc-per-node 2 -m pkg.train --nproc-per-node 9",
        "--world 2 -- python -m pkg.train --nproc-per-node 9",
    ),
    ("torchrun --nproc-per-node 2 --no-python ./my_program -x", "--world 2 -- ./my_program -x"),
    (
        "python3 -u -X dev -m torch.distributed.run --nproc-per-node 2 train.py",
        "--world 2 -- python3 train.py",
    ),
    ("python -mtorch.distributed.launch --use-env --nproc-per-node 2 t.py", "--world 2 -- python t.py"),
    ("python /opt/bin/torchrun --nproc-per-node 2 train.py", "--world 2 -- python train.py"),
]
ACCELERATE = [
    (
        "accelerate launch --num_processes 4 --mixed_precision bf16 train.py",
        "--world 4 --env ACCELERATE_MIXED_PRECISION=bf16 -- python train.py",
    ),
    (
        "python -m accelerate.commands.launch --cpu --num-processes=2 --module pkg.train --lr 1",
        "--world 2 --env ACCELERATE_USE_CPU=true -- python -m pkg.train --lr 1",
    ),
    (
        "accelerate-launch --num_machines 2 --num_processes 8 --machine_rank 0 train.py",
        "--world 2x4 -- python train.py",
    ),
    (
        "accelerate launch --dynamo_backend inductor t.py",
        "--env ACCELERATE_DYNAMO_BACKEND=INDUCTOR -- python t.py",
    ),
    ("accelerate launch --mixed_precision no train.py", "-- python train.py"),
]
DEEPSPEED = [
    (
        "deepspeed --num_gpus 4 --no_local_rank train.py --deepspeed --deepspeed_config c.json",
        "--world 4 -- python train.py --deepspeed --deepspeed_config c.json",
    ),
    ("deepspeed --no_local_rank --num_nodes 2 --num_gpus=4 --module p.t", "--world 2x4 -- python -m p.t"),
    ("deepspeed --no_local_rank --hostfile hosts --num_gpus 4 train.py", "-- python train.py"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "instead"), [*TORCHRUN, *ACCELERATE, *DEEPSPEED])
def test_the_script_of_a_launcher_is_given_without_the_launchers_options(line: str, instead: str) -> None:
    assert said(line).partition(": give bench the script: ")[2] == f"`bench run {instead}`"


@pytest.mark.parametrize(
    "line", ["deepspeed --num_gpus 2 train.py", "python -m torch.distributed.launch train.py"]
)
def test_a_script_that_got_its_rank_as_an_argument_must_read_it(line: str) -> None:
    assert said(line).endswith("gives it --local_rank, too: let it read LOCAL_RANK from os.environ instead")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("torchrun --nproc_per_node 4 --new-option train.py", "unrecognized arguments: --new-option"),
        ("torchrun --virtual-local-rank train.py", "unrecognized arguments: --virtual-local-rank"),
        ("torchrun --nproc_per_node 4", "the following arguments are required: script"),
        ("accelerate launch --use_fsdp train.py", "unrecognized arguments: --use_fsdp"),
        ("accelerate launch --mixed_precision fp8 train.py", "settings of fp8 are variables"),
        ("accelerate launch --config_file missing.yaml train.py", "missing.yaml cannot be read"),
        ("deepspeed --include localhost:0,2 train.py", "unrecognized arguments: --include"),
    ],
)
def test_a_command_that_is_not_understood_is_not_guessed(line: str, reason: str) -> None:
    found = said(line)
    assert "as in `bench run --world 4 -- python train.py`; the command could not be worked out" in found
    assert reason in found
    assert found.count("bench run") == 1


@pytest.mark.parametrize(
    "line",
    [
        "python train.py torchrun --nproc_per_node 4 x.py",
        "python -c torchrun train.py",
        "python torchrun.py x.py",
        "echo torchrun train.py",
        "accelerate config default",
        "torchrun --help",
        "python -m pkg.train torch.distributed.run",
        "bash train.sh",
    ],
)
def test_other_commands_are_none_of_its_business(line: str) -> None:
    assert launchers.instead_of(shlex.split(line), None, {}) is None


def test_settings_of_accelerates_configuration_are_kept_and_its_options_come_first(folder: Path) -> None:
    (folder / "my.yaml").write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 4\n"
        "num_machines: 1\nmachine_rank: 0\nuse_cpu: true\nfsdp_config: {}\ndowncast_bf16: 'no'\n"
    )
    variables = "--env ACCELERATE_MIXED_PRECISION={} --env ACCELERATE_USE_CPU=true -- python train.py`"
    line = "accelerate launch --config_file my.yaml {}train.py"
    assert f"`bench run --world 4 {variables.format('fp16')}" in said(line.format(""))
    changed = said(line.format("--mixed_precision bf16 --num_processes 2 "))
    assert f"`bench run --world 2 {variables.format('bf16')}" in changed
    (folder / "my.yaml").write_text("distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n")
    assert "my.yaml has fsdp_config, distributed_type, which accelerate passes on" in said(line.format(""))


def test_accelerates_default_configuration_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(folder))
    (folder / "accelerate").mkdir()
    (folder / "accelerate/default_config.yaml").write_text("mixed_precision: bf16\nnum_processes: 2\n")
    assert "--world 2 --env ACCELERATE_MIXED_PRECISION=bf16 -- python" in said("accelerate launch train.py")


def test_the_python_next_to_a_launcher_starts_the_script(folder: Path) -> None:
    (folder / "v/bin").mkdir(parents=True)
    (folder / "v/bin/python").touch()
    assert "`bench run -- v/bin/python train.py`" in said("v/bin/torchrun train.py")


def test_of_a_refused_launcher_the_folder_and_the_variables_are_given(folder: Path) -> None:
    assert launchers.refused_in(folder, OPTIONS) is None
    facts = {
        "words": ["python", "/bin/torchrun", "--nproc_per_node", "2", "train.py"], "python": "/elsewhere/bin/python",
        "cwd": str(folder / "sub"), "variables": ["WANDB_MODE", "HF_HOME"], "rank": 1,
    }  # fmt: skip
    (folder / "launcher.json").write_text(json.dumps(facts))
    found = launchers.refused_in(folder, OPTIONS | {"env": {"A": "b c"}})
    assert found == (
        "`bash 'my train.sh'` starts torchrun, which starts ranks itself, as bench does: give bench the script: `bench "
        f"run --world 2 --cwd {folder}/sub --env 'A=b c' -- /elsewhere/bin/python train.py`; `bash 'my train.sh'` sets "
        "WANDB_MODE, HF_HOME: add --env NAME=VALUE for each",
        1,
    )


def _options(parser: argparse.ArgumentParser) -> dict[str, int | str | None]:
    """By option without dashes: its number of values; 0 for a flag."""
    found = {}
    for action in parser._actions:
        for option in action.option_strings:
            found[option.lstrip("-").replace("-", "_")] = action.nargs
    return found


def _ours(kind: str) -> dict[str, int | None]:
    tables = ((launchers._VALUES, None), (launchers._FLAGS, 0))
    return {
        name: nargs for table, nargs in tables for word in table[kind].split() for name in word.split(",")
    }


def test_the_options_are_those_of_torchrun() -> None:
    from torch.distributed.run import get_args_parser

    theirs, ours = _options(get_args_parser()), _ours("torchrun")
    del ours["use_env"]  # of torch.distributed.launch
    assert {name: theirs.get(name, "missing") for name in ours} == ours
    assert set(theirs) - set(ours) == {"h", "help", "virtual_local_rank", "print_completion"}


def test_the_options_are_those_of_accelerate() -> None:
    launch = pytest.importorskip("accelerate.commands.launch")
    theirs, ours = _options(launch.launch_command_parser()), _ours("accelerate launch")
    assert {name: theirs.get(name, "missing") for name in ours} == ours
