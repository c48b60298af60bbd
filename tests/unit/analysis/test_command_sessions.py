"""Commands: their scaling is counted, copies are not judged, and advice is in their words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import summary
from bench.records.run_spec import RunSpec
from tests.factory import Case
from tests.profile_rows import Figures, add_profile
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import Stored, Write, loads, session_of, stored_as

OPTIONS: dict[str, Any] = {
    "command": ["python", "train.py"], "cwd": None, "env": {}, "step_optimizer": None, "examples_per_step": None,
    "script": None,
}  # fmt: skip
TIMES = {1: [100.0, 101.0, 102.0], 2: [110.0, 110.5, 112.0]}


def of_command(
    batches: dict[int, int],
    ranks_train: str | None = "one model",
    scaling: str = "counted",
    changed: Callable[[Path], object] = Path,
    **case: Any,
) -> Write:
    """A session of a command. `batches`: the global batch at each number of ranks, 0 if it is not known."""
    made = Case(
        name="command",
        step_ms=TIMES,
        strategy="command",
        workload="command",
        options=OPTIONS,
        scaling="weak",
        **case,
    )

    def change(folder: Path) -> None:
        for run in folder.glob("*/run.json"):
            value = json.loads(run.read_text())
            spec, outcome = value["spec"], value["outcome"]
            size = spec["world_size"]
            spec |= {
                "scaling": scaling,
                "global_batch": batches[size],
                "batch_per_rank": batches[size] // size,
            }
            outcome |= {
                "ranks_train": ranks_train if size > 1 else None,
                "examples_per_step": batches[size] or None,
                "recorded_by": json.dumps(
                    {"examples": "by the loader's indices" if batches[size] else "not known: two sizes"}
                ),
            }
            run.write_text(json.dumps(value))
        session = folder / "session.json"
        head = json.loads(session.read_text())
        for planned in head["plan"]:
            planned["scaling"] = scaling
        session.write_text(json.dumps(head))
        changed(folder)

    return session_of(made, changed=change)


WEAK = of_command({1: 64, 2: 128})
ASKED = ", by the loader's indices: is that your batch?"


def slow_loader(folder: Path) -> None:
    """Rank 1 of 2 waits 20 ms longer for its batch than rank 0, which waits in backward."""
    for repeat in range(3):
        extra = np.array([[0], [20]])
        columns = {"data_ns": (11 + extra) * 10**6, "backward_ns": (75 - extra) * 10**6}
        rewrite_steps(folder, f"command.1x2.r{repeat}", columns)


def _in_former_words(folder: Path) -> None:
    """As older sessions are: a command's strategy is called `script`."""
    slow_loader(folder)
    for file in folder.rglob("*.json"):
        file.write_text(file.read_text().replace('"strategy": "command"', '"strategy": "script"'))


SLOW_LOADER = of_command({1: 64, 2: 128}, changed=slow_loader)
OLDER_SLOW_LOADER = of_command({1: 64, 2: 128}, changed=_in_former_words)
SLOW_LOADER_OF_COPIES = of_command({1: 64, 2: 128}, "independent copies", changed=slow_loader)


@pytest.mark.parametrize(
    ("stored", "mode"),
    [
        (of_command({1: 64, 2: 64}), "strong"),
        (of_command({1: 64, 2: 65}), "strong"),
        (WEAK, "weak"),
        (of_command({1: 64, 2: 96}), "none"),
        (of_command({1: 64, 2: 0}), "none"),
    ],
    indirect=["stored"],
)
def test_scaling_is_what_the_batches_say(stored: Stored, mode: str) -> None:
    for table in ("runs", "planned_runs"):
        found = stored.ask(f"SELECT DISTINCT scaling_mode FROM {table} WHERE session_id = $session")
        assert found == [{"scaling_mode": mode}]
    (row,) = stored.ask("SELECT speedup, efficiency FROM scaling WHERE session_id = $session AND workers = 2")
    assert (row["efficiency"] is None) is (mode == "none")


@pytest.mark.parametrize(
    ("stored", "line"),
    [
        (of_command({1: 64, 2: 64}), "strong scaling; all ranks together train 64 examples per step" + ASKED),
        (WEAK, "weak scaling; each rank trains 64 examples per step" + ASKED),
        (of_command({1: 64, 2: 96}), None),
        (
            of_command({1: 64, 2: 0}),
            "the examples per step are not known: two sizes; give the number of one rank with --examples-per-step N",
        ),
    ],
    indirect=["stored"],
)
def test_a_session_says_what_was_counted(
    stored: Stored, line: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.show(*stored, program="bench")
    said = [text for text in capsys.readouterr().out.splitlines() if "examples per step" in text]
    assert said == ([] if line is None else [f"command: {line}"])


@loads(of_command({1: 64, 2: 128}, scaling="strong"))
def test_the_user_may_say_the_scaling(stored: Stored) -> None:
    modes = stored.ask("SELECT DISTINCT scaling_mode FROM runs WHERE session_id = $session")
    assert modes == [{"scaling_mode": "strong"}]


@pytest.mark.parametrize(
    "stored",
    [of_command({1: 64, 2: 128}, "independent copies", scaling=scaling) for scaling in ("counted", "weak")],
    indirect=True,
)
def test_independent_copies_have_neither_speedup_nor_efficiency(
    stored: Stored, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = stored.ask(
        "SELECT speedup, efficiency, verdict, throughput FROM scaling WHERE session_id = $session AND workers = 2"
    )
    assert (row["speedup"], row["efficiency"], row["verdict"]) == (None, None, "independent copies")
    assert row["throughput"] > 0
    (finding,) = stored.ask(
        "SELECT severity FROM diagnosis WHERE session_id = $session AND finding = 'independent_copies'"
    )
    assert finding["severity"] == "critical"
    summary.show(*stored, program="bench")
    said = capsys.readouterr().out
    assert "command on 2 ranks: independent copies of the model" in said
    assert "%" not in next(line for line in said.splitlines() if re.match(r"command +2 ", line))


@loads(of_command({1: 64, 2: 128}, None))
def test_a_failed_profile_leaves_the_scaling_open(stored: Stored) -> None:
    assert stored.ask("SELECT DISTINCT scaling_mode, verdict FROM scaling WHERE session_id = $session") == [
        {"scaling_mode": "none", "verdict": None}
    ]


@loads(WEAK)
def test_precision_and_accumulation_of_a_script_are_unknown(stored: Stored) -> None:
    assert stored.ask("SELECT DISTINCT precision, accumulate FROM runs WHERE session_id = $session") == [
        {"precision": None, "accumulate": None}
    ]


@loads(of_command({1: 64, 2: 128}, shares=(0.6, 0.2, 0.1, 0.1)))
def test_advice_to_a_command_names_no_key_of_a_suite(stored: Stored) -> None:
    found = stored.ask(
        "SELECT advice, options FROM findings WHERE session_id = $session AND finding = 'data_bound'"
    )
    assert found
    for row in found:
        assert "num_workers of its DataLoader" in row["advice"]
        assert "data.workers" not in row["advice"]
        assert row["options"] is None


def _by_bench_run(session: Path) -> None:
    head = json.loads((session / "session.json").read_text())
    (session / "session.json").write_text(
        json.dumps(head | {"command": ["bench", "run", "--", "python", "t.py"]})
    )


@loads(of_command({1: 64, 2: 128}, statuses={(2, 0): "failed"}, changed=_by_bench_run))
def test_a_session_of_a_script_can_be_resumed(stored: Stored) -> None:
    (row,) = stored.ask(
        "SELECT session_id, options FROM findings WHERE session_id = $session AND finding = 'runs_not_ok'"
    )
    assert row["options"] == f"--resume {row['session_id']}"


@loads(of_command({1: 64, 2: 128}, statuses={(2, 0): "timeout"}, changed=_by_bench_run))
def test_a_run_that_took_too_long_is_tried_with_bench_run(
    stored: Stored, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.show(*stored, program="bench")
    said = capsys.readouterr().out
    assert re.search(r"try: bench run --timeout \d+ -- python t.py\n", said)
    assert "bench suite" not in said


def _three_workers(session: Path) -> None:
    for run in session.glob("*/run.json"):
        value = json.loads(run.read_text())
        value["outcome"]["recorded_by"] = json.dumps({"loader_workers": "3", "loader_starts": "2"})
        run.write_text(json.dumps(value))


@loads(of_command({1: 64, 2: 128}, shares=(0.6, 0.2, 0.1, 0.1), changed=_three_workers))
def test_advice_on_a_loader_counts_the_workers_that_the_command_has(stored: Stored) -> None:
    found = stored.ask(
        "SELECT evidence, advice FROM findings WHERE session_id = $session AND finding = 'data_bound'"
    )
    assert found
    for row in found:
        assert (
            "each rank has 3 loader processes, started again 2 times in the measured steps" in row["evidence"]
        )
        assert row["advice"].startswith("First keep the loader processes from epoch to epoch")


def small_batch(words: list[str], verb: str) -> Write:
    case = Case(
        name="command", step_ms={1: [4.9, 5.0, 5.1], 2: [7.9, 8.0, 8.1]}, scaling="weak", batch=32,
        strategy="command", workload="command", options=OPTIONS | {"command": ["python", *words]},
    )  # fmt: skip

    def figures(spec: RunSpec, _rank: int) -> Figures:
        return (100, 0, 0, 90) if spec.world_size == 1 else (80, 30, 30, 42)

    def change(session: Path) -> None:
        add_profile(session, figures, {})
        for run in session.glob("*/run.json"):
            value = json.loads(run.read_text())
            value["outcome"]["ranks_train"] = "one model" if value["spec"]["world_size"] > 1 else None
            run.write_text(json.dumps(value))
        head = json.loads((session / "session.json").read_text())
        (session / "session.json").write_text(json.dumps(head | {"command": ["bench", verb, "mine"]}))

    return session_of(case, changed=change)


@pytest.mark.parametrize(
    ("stored", "obeys"),
    [
        (small_batch(["train.py", "--batch", "{batch_per_rank}"], "suite"), True),
        (small_batch(["train.py", "--batch", "64"], "suite"), False),
        (small_batch(["train.py", "--batch", "{batch_per_rank}"], "run"), False),  # which has no --set
    ],
    indirect=["stored"],
)
def test_advice_to_a_command_has_only_options_that_can_be_given(stored: Stored, obeys: bool) -> None:
    (found,) = stored.ask(
        "SELECT advice, options FROM findings WHERE session_id = $session AND finding = 'small_batch'"
    )
    assert found["advice"].startswith("Raise the global batch")
    assert (found["options"] is not None) is obeys


def _end_with_a_traceback(folder: Path) -> None:
    run = folder / "command.1x2.r0/run.json"
    value = json.loads(run.read_text())
    value["outcome"]["error"] = "the command ended with exit code 1\n  Traceback\n  ValueError"
    run.write_text(json.dumps(value))


@stored_as(
    Case(name="command", step_ms=TIMES, workload="command", options=OPTIONS, statuses={(2, 0): "failed"}),
    changed=_end_with_a_traceback,
)
def test_only_the_first_line_of_an_error_is_a_reason(stored: Stored) -> None:
    (row,) = stored.ask("SELECT reasons FROM coverage WHERE session_id = $session AND workers = 2")
    assert row["reasons"] == "the command ended with exit code 1"


def _lose_the_loss(session: Path) -> None:
    rewrite_steps(session, "command.1x1.r1", {"loss": np.where(np.arange(12) < 6, 2.3, math.nan)})


@loads(of_command({1: 64, 2: 128}, changed=_lose_the_loss))
def test_advice_for_a_loss_that_is_not_finite_names_no_learning_rate_of_ours(stored: Stored) -> None:
    """A command has an optimizer of its own."""
    (finding,) = stored.ask(
        "SELECT advice, options FROM diagnosis WHERE session_id = $session AND finding = 'nonfinite_loss' LIMIT 1"
    )
    assert finding["advice"].startswith("Lower the learning rate, clip gradients")
    assert finding["options"] is None


@pytest.mark.parametrize("stored", [SLOW_LOADER, OLDER_SLOW_LOADER], ids=["today", "older"], indirect=True)
def test_a_rank_of_a_script_that_waits_for_data_is_named_and_what_it_costs_is_known(stored: Stored) -> None:
    slow = stored.ask(
        "SELECT rank, excess_ms, data_excess_ms FROM stragglers WHERE is_straggler AND session_id = $session"
    )
    assert slow == [{"rank": 1, "excess_ms": 20.0, "data_excess_ms": 20.0}]
    (found,) = stored.ask("FROM diagnosis WHERE finding = 'straggler' AND session_id = $session")
    assert (
        "before it first waits, all of it for data; the others wait for it for at most" in found["evidence"]
    )
    assert found["certainty"] == "likely"
    assert found["advice"].startswith("Look at how that rank gets its data")
    (parts,) = stored.ask("FROM step_parts WHERE world_size = 2 AND session_id = $session")
    assert parts["data_ms"] == 31.0
    for table in ("runs", "planned_runs"):
        strategies = stored.ask(f"SELECT DISTINCT strategy FROM {table} WHERE session_id = $session")
        assert strategies == [{"strategy": "command"}]


@loads(SLOW_LOADER_OF_COPIES)
def test_independent_copies_do_not_wait_for_a_slow_loader(stored: Stored) -> None:
    rows = stored.ask("FROM stragglers WHERE session_id = $session")
    assert {(row["excess_ms"], row["data_excess_ms"]) for row in rows} == {(None, None)}
