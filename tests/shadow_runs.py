"""Runs of a miniature Transformer for shadows and for real ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.plan.plan import plan
from bench.records.run_spec import RunSpec, Slots
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection

MODEL = {
    "name": "transformer_lm", "d_model": 32, "layers": 4, "heads": 4, "sequence_length": 16, "vocab_size": 256,
    "tie_embeddings": False, "validation_examples": 12,
}  # fmt: skip
PARAMETERS = 2 * 256 * 32 + 4 * 12 * 32 * 32 + 9 * 32
"""Elements of the embedding and the head, the layers' products, and the norms."""


def runs(folder: Path, cases: dict[str, dict[str, Any]], *, ranks_per_node: int = 8) -> list[RunSpec]:
    """One run of each case, whose keys are a suite's, by name; `world` and `strategy` among them."""
    suite = {
        "title": "Miniatures",
        "why": "To know what ranks send.",
        "workload": MODEL,
        "data": {"source": "text"},
        "train": {"accumulate": 2, "clip_norm": 1.0},
        "device": "cpu",
        "measure": {"warmup": 2, "steps": 2, "repeats": 1, "timeout_s": 300},
        "cases": [
            {"name": name, "scaling": "weak", "batch_per_rank": 8, **keys} for name, keys in cases.items()
        ],
    }
    path = folder / "miniatures.yaml"
    path.write_text(json.dumps(suite))
    slots = Slots(
        nodes=1_024,
        slots_per_node=ranks_per_node,
        cpus_per_node=ranks_per_node,
        device_type="cpu",
        fixed=True,
    )
    return [run.spec for run in plan(load_suite(str(path), Selection()), slots, "session")]
