"""The program of a shadow: reads a question from stdin and prints the answer, both one line of JSON.

A question has a `spec` (RunSpec) and a `rank`. The answer is a Shadow, or `problem`: why there is none."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from bench.common import safe_path
from bench.common.process import die_with_parent, name_process


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    name_process("shadow rank")
    safe_path.protect_imports()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model may print; stdout carries the answer only
    question = json.load(sys.stdin)
    print(json.dumps(_answer(question)), file=answers, flush=True)


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    from bench.common.error_text import describe
    from bench.common.errors import InputError
    from bench.records.run_spec import RunSpec
    from bench.shadow.hollow import ValueNeededError
    from bench.shadow.join_fake import joined
    from bench.shadow.one_step import step_of
    from bench.train.error_place import place_of

    spec = RunSpec.from_json(question["spec"])
    rank = question["rank"]
    try:
        with joined(spec, rank):
            return asdict(step_of(spec, rank, hollow=True))
    except InputError as error:
        return {"problem": str(error)}
    except ValueNeededError as error:
        return {"problem": error.text()}
    except (Exception, SystemExit) as error:  # a custom workload may raise anything
        place = place_of(error, spec.workload, spec.strategy, spec.data.source)
        return {"problem": describe(error) + place}


if __name__ == "__main__":
    main()
