"""Model sizes and working sets, found by a separate process: torch stays out of the process that asks.

`probe_models` runs this file as a program. The program reads questions as one JSON list and answers each with one line
of JSON. A question is a preflight question with `micro_batches` and `gathered`. An answer has `size`, `working_sets`
(one per micro-batch) and `flops_per_example`, or `problem`: why there is none. The program's arguments are the process
id of the asker, with which it dies, and a time limit per question in seconds, counted once its data are read; then
SIGALRM ends the program.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bench.common import safe_path
from bench.common.errors import InputError
from bench.predict.memory import ModelSize, WorkingSet
from bench.predict.network import is_sharded
from bench.records.run_spec import RunSpec

if TYPE_CHECKING:
    from bench.predict.activations import StepOptions
    from bench.workloads import Workload

_TIMEOUT_S = 1_800
_LIMIT_S = 120
"""For one question, once its data are read."""
_READY = "ready"
"""The program prints this line once it has imported torch, before its first answer."""


@dataclass(frozen=True, kw_only=True)
class ProbedModel:
    """A model's size and working sets; without `size` there is a `problem`."""

    problem: str | None = None
    size: ModelSize | None = None
    working_sets: dict[int, WorkingSet]
    """By micro-batch: those of the smallest and the largest one asked for."""
    flops_per_example: float | None = None

    def working_set(self, micro_batch: int) -> WorkingSet:
        """Between the two micro-batches that were probed, interpolated linearly."""
        if micro_batch in self.working_sets:
            return self.working_sets[micro_batch]
        (low, first), (high, last) = sorted(self.working_sets.items())
        share = (micro_batch - low) / (high - low)
        parts = ("kept_bytes", "peak_bytes", "peak_with_gradients_bytes")
        return WorkingSet(
            **{
                part: round(getattr(first, part) * (1 - share) + getattr(last, part) * share)
                for part in parts
            }
        )


def probe_models(specs: Iterable[RunSpec], *, counts_flops: bool) -> dict[str, ProbedModel]:
    """By `model_key`. Raises InputError if the program fails as a whole.

    A model that ends the program is reported in its `problem`; the others are still answered."""
    questions: dict[str, dict[str, Any]] = {}
    for spec in specs:
        question = questions.setdefault(
            model_key(spec), _question(spec) | {"micro_batches": [], "counts_flops": counts_flops}
        )
        question["micro_batches"].append(spec.micro_batch)
    for question in questions.values():
        sizes = question["micro_batches"]
        question["micro_batches"] = sorted({min(sizes), max(sizes)})
    left = list(questions.values())
    models: list[ProbedModel] = []
    while left:
        lines, exit_code = _run_program(left)
        for answer in map(json.loads, lines):
            if "problem" in answer:
                models.append(ProbedModel(problem=answer["problem"], working_sets={}))
                continue
            models.append(
                ProbedModel(
                    size=ModelSize(**answer["size"]),
                    working_sets={
                        int(size): WorkingSet(**found) for size, found in answer["working_sets"].items()
                    },
                    flops_per_example=answer["flops_per_example"],
                )
            )
        if len(lines) < len(left):
            how = f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
            end = f"ended the process that probes it ({how})"
            if exit_code == -signal.SIGALRM:
                end = f"gave no shapes within {_LIMIT_S} s"
            workload = left[len(lines)]["workload"]
            models.append(ProbedModel(problem=f"{workload} {end}", working_sets={}))
        left = left[len(lines) + 1 :]
    return dict(zip(questions, models, strict=True))


def model_key(spec: RunSpec) -> str:
    """Equal for runs with the same model that keep the same tensors for an example."""
    return json.dumps(_question(spec), sort_keys=True)


def _question(spec: RunSpec) -> dict[str, Any]:
    narrow = spec.strategy_options.get("param_dtype") or spec.train.precision
    return {
        **spec.workload_with_data,
        "seed": 0,
        "device_type": spec.device_type,
        "precision": spec.train.precision,
        "gathered": narrow if is_sharded(spec) and narrow in ("bf16", "fp16") else None,
        "checkpointing": spec.train.checkpointing,
    }


def _run_program(questions: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Answers up to the first question that ended the program, and its exit code.

    stderr, with torch's warnings, is shown only if the program fails as a whole."""
    try:
        result = subprocess.run(
            safe_path.command(
                "bench.predict.model_probe", str(os.getpid()), str(_LIMIT_S), options=("-W", "ignore")
            ),
            env=safe_path.environment(),
            input=json.dumps(questions),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"the models gave no shapes within {_TIMEOUT_S} s: choose fewer cases with --case"
        ) from None
    ready, *lines = result.stdout.split("\n")
    if ready != _READY:
        reason = (result.stderr.strip().splitlines() or [f"it ended with {result.returncode}"])[-1]
        raise InputError(
            f"the process that probes the models failed: {reason}; check torch with `bench doctor`"
        )
    return lines[:-1], result.returncode  # an incomplete last line is not an answer


def main() -> None:
    from bench import workloads
    from bench.common.process import die_with_parent, name_process
    from bench.predict.activations import StepOptions
    from bench.train.flops import failure_note

    names = ("device_type", "precision", "gathered", "checkpointing")
    asker, limit_s = map(int, sys.argv[1:])
    die_with_parent(asker)
    name_process("model probe")
    safe_path.protect_imports()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model may print; stdout carries answers only
    questions = json.load(sys.stdin)
    print(_READY, file=answers, flush=True)
    for question in questions:
        try:
            workload = workloads.prepared(question)
            if workload is None:
                answer: dict[str, Any] = {"problem": "it trains nothing: there is no step to predict"}
            elif workloads.makes_steps(workload):
                answer = {"problem": "it makes its own steps: only a run can measure them"}
            else:
                signal.alarm(limit_s)
                options = StepOptions(**{name: question[name] for name in names})
                answer = _probed(workload, options, question["micro_batches"], question["counts_flops"])
        except InputError as error:
            answer = {"problem": str(error)}
        except (Exception, SystemExit) as error:  # a custom workload may raise anything
            answer = {"problem": failure_note(error, question["workload"])}
        text = json.dumps(answer)
        signal.alarm(0)
        print(text, file=answers, flush=True)


def _probed(
    workload: Workload, options: StepOptions, micro_batches: list[int], counts_flops: bool
) -> dict[str, Any]:
    from bench.predict.activations import size_of, working_set
    from bench.train.flops import of_batches

    largest = max(micro_batches)
    return {
        "size": asdict(size_of(workload)),
        "working_sets": {str(size): asdict(working_set(workload, size, options)) for size in micro_batches},
        "flops_per_example": of_batches(workload, largest)[0] / largest or None if counts_flops else None,
    }


if __name__ == "__main__":
    main()
