"""Suites that run a user's command, from a file and from the command line of `bench run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.command.options import command_name, filled
from bench.command.suite import suite_of_command
from bench.common.errors import InputError
from bench.plan.plan import plan
from bench.records.run_spec import Slots
from bench.suite.resolve import load_suite, resolve

Write = Callable[[str], str]
SUITE = """
title: Mine
workload: {{command: [python, train.py, --lr, 0.1, --batch-size, "{{batch_per_rank}}"]{workload}}}
measure: {{steps: 10{measure}}}
cases:
  - {{name: one, world: [1, 2]{case}}}
"""


def text(workload: str = "", measure: str = "", case: str = ", global_batch: 64") -> str:
    return SUITE.format(workload=workload, measure=measure, case=case)


def test_a_command_needs_neither_strategy_nor_scaling(write: Write, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    (case,) = load_suite(write(text())).cases
    assert (case.workload.name, case.strategy.name, case.scaling) == ("command", "command", "counted")
    assert case.workload.options["command"] == (
        "python",
        "train.py",
        "--lr",
        "0.1",
        "--batch-size",
        "{batch_per_rank}",
    )
    assert case.workload.options["cwd"] == str(tmp_path)
    assert case.workload.options["script"] == str(tmp_path / "train.py")


def test_the_folder_is_relative_to_the_suites_file(write: Write, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (case,) = load_suite(write(text(", cwd: ./sub"))).cases
    assert case.workload.options["cwd"] == str(tmp_path / "sub")


def test_its_runs_know_their_batch_if_the_case_has_one(write: Write) -> None:
    slots = Slots(slots_per_node=2, cpus_per_node=2, device_type="cpu")
    runs = plan(load_suite(write(text())), slots, "s")
    batches = {(run.spec.world_size, run.spec.batch_per_rank, run.spec.global_batch) for run in runs}
    assert batches == {(1, 64, 64), (2, 32, 64)}
    assert {run.spec.measure.profiled for run in runs} == {2}


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"case": ""}, "the command has {batch_per_rank}: give the case batch_per_rank or global_batch"),
        (
            {"case": ", global_batch: 8, batch_per_rank: 8"},
            "give batch_per_rank or global_batch, one of them",
        ),
        (
            {"case": ", global_batch: 8, strategy: ddp"},
            "strategy is ddp, and the command distributes its model itself",
        ),
        (
            {"case": ", global_batch: 8, train: {precision: bf16}"},
            "train.precision has no effect on a command",
        ),
        ({"measure": ", validate_every: 3"}, "measure.validate_every has no effect on a command"),
        ({"measure": ", warmup: 0"}, "give measure.warmup: 1"),
        ({"workload": ", cwd: ./missing"}, "missing, and there is no such folder"),
        ({"workload": ", env: {RANK: '1'}"}, "env: 'RANK' cannot be set"),
        ({"workload": ", size: 3"}, "unknown key 'size'"),
    ],
)
def test_a_key_without_effect_is_refused(write: Write, parts: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as raised:
        load_suite(write(text(**parts)))
    assert said in str(raised.value)
    assert str(raised.value).startswith("s.yaml:")


def test_a_batch_that_the_command_does_not_take_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match=r"global_batch has no effect on a command without \{global_batch\}"):
        load_suite(write(text().replace("{batch_per_rank}", "8")))


@pytest.mark.parametrize(
    "starter",
    ["torchrun", "/usr/bin/accelerate, launch", "python, -m, torch.distributed.run", "mpirun", "torchx"],
)
def test_a_command_that_starts_ranks_is_refused_with_what_to_do(write: Write, starter: str) -> None:
    with pytest.raises(
        InputError,
        match=r"starts processes of its own\. .* instead|give the script itself|give bench the script: `bench run",
    ):
        load_suite(write(text().replace("python, train.py", f"{starter}, train.py")))


def test_counted_scaling_is_for_commands(write: Write) -> None:
    other = text(case=", global_batch: 8, workload: {name: spiral_mlp}, strategy: ddp, scaling: counted")
    with pytest.raises(InputError, match="counted is for commands"):
        load_suite(write(other.replace(SUITE.splitlines()[2].format(workload=""), "")))


def options(**other: Any) -> dict[str, Any]:
    return {
        "world": "1,2", "warmup": 5, "steps": 30, "repeats": 3, "timeout_s": 600.0, "scaling": "counted",
        "batch_per_rank": None, "global_batch": None, "device": None, "cwd": None, "step_optimizer": None,
        "isolate": False, "examples_per_step": None, **other,
    }  # fmt: skip


def test_bench_run_is_a_suite_of_one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("python", "train.py", "--epochs", "3")
    made = suite_of_command(words, name=None, variables=("A=b=c",), options=options(world="1,2x4", cwd="."))
    suite = resolve(made.root, Path("bench run"), name=made.name)
    (case,) = suite.cases
    assert suite.name == "train"
    assert case.world == (1, (2, 4))
    assert case.workload.options["command"] == words
    assert case.workload.options["env"] == {"A": "b=c"}
    assert case.workload.options["cwd"] == str(tmp_path)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"variables": ("A",)}, "--env A: it takes NAME=VALUE"),
        ({"name": "a b"}, "--name 'a b'"),
        ({"options": options(world="1,x")}, "--world 1,x: 'x' must be a number of ranks"),
        ({"options": options(cwd="/nowhere")}, "--cwd: case command: cwd is /nowhere"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, Any], said: str) -> None:
    def read() -> None:
        asked = {"name": None, "variables": (), "options": options(), **given}
        made = suite_of_command(("python", "t.py"), **asked)
        resolve(made.root, Path("bench run"), name=made.name)

    with pytest.raises(InputError) as raised:
        read()
    assert str(raised.value).startswith(said)


def test_only_the_known_placeholders_are_filled() -> None:
    text = '{"lr": {x}, "n": {world_size}, "s": "{seed}{}"}'
    assert filled(text, {"world_size": 4, "seed": 7}) == '{"lr": {x}, "n": 4, "s": "7{}"}'


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "src/my train.py"), "my-train"),
        (("python", "-m", "pkg.train"), "pkg.train"),
        (("./run.sh",), "run"),
        (("/opt/x",), "x"),
    ],
)
def test_the_suite_is_named_after_the_script(command: tuple[str, ...], name: str) -> None:
    assert command_name(command) == name
