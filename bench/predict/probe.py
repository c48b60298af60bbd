"""Run as a program: reads questions as one JSON list, answers each with one line of JSON; torch is only here.

A question is what preflight asks of a run, with `micro_batches` and `gathered`; an answer has `size`, `working_sets`
(one per micro-batch) and `flops_per_example`, or `problem`, why there is none. Its arguments are the process that asks,
with which it dies, and the seconds a question may take after its data are read: SIGALRM ends it then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any

from bench import workloads
from bench.errors import InputError
from bench.predict.sizes import READY
from bench.predict.working_set import How, size_of, working_set
from bench.process import die_with_parent, name_process
from bench.safe_path import protect_imports
from bench.train.flops import of_batches, why_not
from bench.workloads import Workload


def main() -> None:
    asker, limit_s = map(int, sys.argv[1:])
    die_with_parent(asker)
    name_process("model probe")
    protect_imports()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a user's model prints is no answer
    questions = json.load(sys.stdin)
    print(READY, file=answers, flush=True)
    for question in questions:
        answer = json.dumps(_answer(question, limit_s))
        signal.alarm(0)
        print(answer, file=answers, flush=True)


def _answer(question: dict[str, Any], limit_s: int) -> dict[str, Any]:
    try:
        workload = workloads.prepared(question)
        if workload is None:
            return {"problem": "it trains nothing: there is no step to predict"}
        signal.alarm(limit_s)
        return _found(workload, question)
    except InputError as error:
        return {"problem": str(error)}
    except (Exception, SystemExit) as error:  # an own workload may raise anything
        return {"problem": why_not(error, question["workload"])}


def _found(workload: Workload, question: dict[str, Any]) -> dict[str, Any]:
    how = How(**{key: question[key] for key in ("device_type", "precision", "gathered", "checkpointing")})
    return {
        "size": asdict(size_of(workload)),
        "working_sets": {
            str(micro_batch): asdict(working_set(workload, micro_batch, how))
            for micro_batch in question["micro_batches"]
        },
        "flops_per_example": _flops(workload, question),
    }


def _flops(workload: Workload, question: dict[str, Any]) -> float | None:
    if not question["counts_flops"]:
        return None
    largest: int = max(question["micro_batches"])
    return of_batches(workload, largest)[0] / largest or None


if __name__ == "__main__":
    main()
