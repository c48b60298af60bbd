"""A shadow of a run: the messages and the memory of its ranks, found by a separate process without other ranks."""

from __future__ import annotations

import json
import os
import subprocess

from bench.common import safe_path
from bench.common.errors import InputError
from bench.records.run_spec import RunSpec
from bench.shadow.records import Shadow


def shadow(spec: RunSpec, rank: int = 0, *, timeout_s: float = 600.0) -> Shadow:
    """The messages of the rank in a step, and its memory at the peak. Raises InputError if the run cannot be shadowed: the message says
    why, and what to do."""
    question = json.dumps({"spec": spec.to_json(), "rank": rank})
    try:
        result = subprocess.run(
            safe_path.command("bench.shadow.program", str(os.getpid()), options=("-W", "ignore")),
            env=safe_path.environment(),
            input=question,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{spec.case_name}: rank {rank} took no step within {timeout_s:g} s: choose a smaller model, or fewer "
            "cases with --case"
        ) from None
    if not result.stdout:
        last = (result.stderr.strip().splitlines() or [f"it ended with {result.returncode}"])[-1]
        raise InputError(
            f"{spec.case_name}: the process of the shadow failed: {last}; check torch with `bench doctor`"
        )
    answer = json.loads(result.stdout)
    if "problem" in answer:
        raise InputError(f"{spec.case_name}: {answer['problem']}")
    return Shadow.from_json(answer)
