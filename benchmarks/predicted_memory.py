"""Compare the memory per rank that `bench predict` predicts with that of find_batch's probing runs on two ranks.

On a CPU this is the private memory added since before the model was built, including libraries and threads; on CUDA it
is the memory that torch's allocator reserved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCH = [sys.executable, "-m", "bench"]
WORKLOADS: dict[str, tuple[int, ...]] = {
    "mnist_cnn": (512, 4_096),
    "text_classifier": (64, 512),
    "transformer_lm": (4,),
    "ddpm_unet": (4,),
}
"""Batches per rank."""
DIVIDED = {"transformer_lm": ("tp",)}
"""Strategies that divide the model, by workload; find_batch cannot probe a pipeline."""
USED = "SELECT case_name, used_bytes FROM batch_limits"


def case(workload: str, strategy: str, batch: int) -> dict[str, Any]:
    return {
        "name": f"{workload}-{strategy}-{batch}",
        "workload": {"name": workload},
        "data": {"source": "synthetic"},
        "strategy": strategy,
        "scaling": "weak",
        "batch_per_rank": batch,
        "find_batch": {"smallest": batch, "largest": batch, "steps": 3},
        "world": [2],
    }


def measured(suite: Path, results: Path) -> dict[str, int]:
    """Bytes by case."""
    subprocess.run([*BENCH, "suite", str(suite), "--results", str(results)], stdout=sys.stderr, check=True)
    command = [*BENCH, "sql", USED, "--format", "json", "--rows", "0", "--results", str(results)]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {row["case_name"]: row["used_bytes"] for row in rows}


def predicted(suite: Path, results: Path) -> dict[str, dict[str, int]]:
    """Bytes by case and part."""
    command = [*BENCH, "predict", str(suite), "--json", "--results", str(results)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {one["case_name"]: one["memory_per_rank_bytes"] for one in answer["predictions"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workload", choices=WORKLOADS, help="only this one")
    chosen = [only] if (only := parser.parse_args().workload) else list(WORKLOADS)
    cases = [
        case(workload, strategy, batch)
        for workload, batches in WORKLOADS.items()
        if workload in chosen
        for strategy in ("ddp", "fsdp", *DIVIDED.get(workload, ()))
        for batch in batches
    ]
    suite = {
        "title": "Memory per rank",
        "workload": {"name": "mnist_cnn"},
        "measure": {"warmup": 0, "steps": 1, "repeats": 1, "memory_limit_bytes": "6GiB"},
        "cases": cases,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.yaml"
        file.write_text(json.dumps(suite))  # which is YAML too
        ours, theirs = predicted(file, Path(folder)), measured(file, Path(folder))
    sys.stdout.write(
        "| workload, strategy, batch | predicted MiB | measured MiB | ratio |\n| --- | --- | --- | --- |\n"
    )
    for name, parts in ours.items():
        total, seen = parts["total"] / 2**20, theirs[name] / 2**20
        sys.stdout.write(f"| {name.replace('-', ', ')} | {total:.0f} | {seen:.0f} | {total / seen:.2f} |\n")


if __name__ == "__main__":
    main()
