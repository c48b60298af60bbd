"""Asks probe.py about every model of a plan: torch stays out of the process that asks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench import safe_path
from bench.errors import InputError
from bench.predict.sizes import READY, ModelSize, WorkingSet
from bench.predict.traffic import is_sharded
from bench.records.run_spec import RunSpec

_TIMEOUT_S = 1_800
_LIMIT_S = 120
"""For one question, after its data are read."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What shapes say of a model; without a size where they could not."""

    problem: str | None = None
    size: ModelSize | None = None
    working_sets: dict[int, WorkingSet]
    """By micro-batch: the smallest and the largest that were asked for."""
    flops_per_example: float | None = None

    def working_set(self, micro_batch: int) -> WorkingSet:
        """Between two that were looked at, on the straight line from one to the other."""
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


def ask(specs: Iterable[RunSpec], *, counts_flops: bool) -> dict[str, Answer]:
    """By `key`. Raises InputError where no answer comes."""
    questions: dict[str, dict[str, Any]] = {}
    for spec in specs:
        question = questions.setdefault(
            key(spec), _question(spec) | {"micro_batches": [], "counts_flops": counts_flops}
        )
        question["micro_batches"].append(spec.micro_batch)
    for question in questions.values():
        sizes = question["micro_batches"]
        question["micro_batches"] = sorted({min(sizes), max(sizes)})
    said = _said(list(questions.values()))
    return {name: _answer(one) for name, one in zip(questions, said, strict=True)}


def key(spec: RunSpec) -> str:
    """Equal for runs whose models are one and keep the same things for an example."""
    return json.dumps(_question(spec), sort_keys=True)


def _question(spec: RunSpec) -> dict[str, Any]:
    narrow = spec.strategy_options.get("param_dtype") or spec.train.precision
    return {
        "workload": spec.workload,
        "options": spec.workload_options,
        "source": spec.data.source,
        "data_root": spec.data_root,
        "seed": 0,
        "device_type": spec.device_type,
        "precision": spec.train.precision,
        "gathered": narrow if is_sharded(spec) and narrow in ("bf16", "fp16") else None,
        "checkpointing": spec.train.checkpointing,
    }


def _said(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One answer for each; a model that ends the process which looks at it costs no other its answer."""
    said: list[dict[str, Any]] = []
    while len(said) < len(questions):
        lines, end = _lines(questions[len(said) :])
        said += map(json.loads, lines)
        if len(said) < len(questions):
            said.append({"problem": f"{questions[len(said)]['workload']} {end}"})
    return said


def _lines(questions: list[dict[str, Any]]) -> tuple[list[str], str]:
    """Answers up to the first question that ended the process, and how it ended.

    torch's warnings are nobody's: they go nowhere unless the process fails."""
    command = safe_path.command(
        "bench.predict.probe", str(os.getpid()), str(_LIMIT_S), options=("-W", "ignore")
    )
    environment = safe_path.environment()
    text = json.dumps(questions)
    try:
        result = subprocess.run(
            command,
            env=environment,
            input=text,
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
    if ready != READY:
        said = (result.stderr.strip().splitlines() or [f"it ended with {result.returncode}"])[-1]
        raise InputError(
            f"the process that looks at the models failed: {said}; `bench doctor` looks at torch"
        )
    return lines[:-1], _end(result.returncode)  # a line without its end is no answer


def _end(code: int) -> str:
    if code == -signal.SIGALRM:
        return f"gave no shapes within {_LIMIT_S} s"
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"ended the process that looks at it ({how})"


def _answer(said: dict[str, Any]) -> Answer:
    if "problem" in said:
        return Answer(problem=said["problem"], working_sets={})
    return Answer(
        size=ModelSize(**said["size"]),
        working_sets={int(size): WorkingSet(**found) for size, found in said["working_sets"].items()},
        flops_per_example=said["flops_per_example"],
    )
