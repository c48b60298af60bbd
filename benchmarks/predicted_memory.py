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
"""Micro-batches, in examples."""
DIVIDED: dict[str, tuple[tuple[str, str | dict[str, str], int], ...]] = {
    "transformer_lm": (
        ("tp", "tp", 1),
        ("1f1b", {"name": "pp", "schedule": "1f1b"}, 4),
        ("gpipe", {"name": "pp", "schedule": "gpipe"}, 4),
        ("interleaved", {"name": "pp", "schedule": "interleaved"}, 4),
        ("zero_bubble", {"name": "pp", "schedule": "zero_bubble"}, 4),
    )
}
"""Strategies that divide the model, by workload: label, strategy, and micro-batches of a step."""
USED = "SELECT case_name, used_bytes FROM batch_limits"


def case(
    workload: str, label: str, strategy: str | dict[str, str], micro_batch: int, count: int
) -> dict[str, Any]:
    return {
        "name": f"{workload}-{label}-{micro_batch}",
        "workload": {"name": workload} | ({"tie_embeddings": False} if count > 1 else {}),
        "data": {"source": "synthetic"},
        "strategy": strategy,
        "scaling": "none",
        "train": {"accumulate": count},
        "world": [2],
    }


def given(one: dict[str, Any], micro_batch: int) -> dict[str, Any]:
    """The case with its batch."""
    return one | {"batch_per_rank": micro_batch * one["train"]["accumulate"]}


def probed(one: dict[str, Any], micro_batch: int) -> dict[str, Any]:
    """The case without its batch: probing runs store the memory."""
    return one | {"find_batch": {"smallest": micro_batch, "largest": micro_batch, "steps": 3}}


def measured(suite: Path, results: Path) -> dict[str, int | None]:
    """Bytes by case; null if no sample saw the memory grow."""
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
        (case(workload, label, strategy, micro_batch, count), micro_batch)
        for workload, micro_batches in WORKLOADS.items()
        if workload in chosen
        for label, strategy, count in (("ddp", "ddp", 1), ("fsdp", "fsdp", 1), *DIVIDED.get(workload, ()))
        for micro_batch in micro_batches
    ]
    suite = {
        "title": "Memory per rank",
        "workload": {"name": "mnist_cnn"},
        "measure": {"warmup": 0, "steps": 1, "repeats": 1, "memory_limit_bytes": "6GiB"},
    }
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "predicted.yaml", Path(folder) / "measured.yaml"
        before.write_text(
            json.dumps(suite | {"cases": [given(*each) for each in cases]})
        )  # which is YAML too
        after.write_text(json.dumps(suite | {"cases": [probed(*each) for each in cases]}))
        ours, theirs = predicted(before, Path(folder)), measured(after, Path(folder))
    sys.stdout.write(
        "| workload, strategy, micro-batch | predicted MiB | measured MiB | ratio |\n| --- | --- | --- | --- |\n"
    )
    for name, parts in ours.items():
        total, used = parts["total"], theirs[name]
        seen = "not seen | " if used is None else f"{used / 2**20:.0f} | {total / used:.2f}"
        sys.stdout.write(f"| {name.replace('-', ', ')} | {total / 2**20:.0f} | {seen} |\n")


if __name__ == "__main__":
    main()
