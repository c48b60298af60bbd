"""Asks torch in a process of its own: a broken torch must not take the doctor with it."""

from __future__ import annotations

import json
import subprocess

from bench import safe_path
from bench.doctor.facts import Torch

_TIMEOUT_S = 120


def gather_torch() -> tuple[Torch | None, str | None]:
    """What bench/doctor/probe_torch.py found, or why there is no answer."""
    command = safe_path.command("bench.doctor.probe_torch")
    environment = safe_path.environment()
    try:
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_TIMEOUT_S} s"
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        return None, lines[-1] if lines else f"its process ended with {result.returncode}"
    return Torch(**json.loads(result.stdout.splitlines()[-1])), None
