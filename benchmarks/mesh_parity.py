"""Compare the losses of every mesh on 2, 4 and 8 ranks with those of one rank.

fp32 and SGD, so that a gradient of the wrong size shows; 6 steps of a small Transformer. Prints a table: mesh, ranks,
and the largest relative difference of the 6 losses.

    python benchmarks/mesh_parity.py [--ranks 2 4 8]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb

BENCH = str(Path(sys.executable).parent / "bench")
STEPS = 6
DDP = {"dp_shard": 1, "dp_replicate": None}
MESHES: dict[str, Any] = {
    "ddp": "ddp",
    "fsdp": "fsdp",
    "hybrid_shards": {"mesh": {"dp_replicate": 2}},
    "tp": "tp",
    "tp_sequence": {"tp": {"sequence_parallel": True}},
    "tp_ddp": {"mesh": {"tp": 2, **DDP}},
    "tp_fsdp": {"mesh": {"tp": 2}},
    "pp_1f1b": "pp",
    "pp_gpipe": {"pp": {"schedule": "gpipe"}},
    "pp_interleaved": {"pp": {"schedule": "interleaved"}},
    "pp_zero_bubble": {"pp": {"schedule": "zero_bubble"}},
    "pp_ddp": {"mesh": {"pp": 2, **DDP}},
    "pp_fsdp": {"mesh": {"pp": 2}},
    "interleaved_fsdp": {"mesh": {"pp": 2, "schedule": "interleaved"}},
    "tp_pp": {"mesh": {"tp": 2, "pp": None}},
    "tp_pp_fsdp": {"mesh": {"tp": 2, "pp": 2, "sequence_parallel": True}},
}
EXPERTS: dict[str, Any] = {
    "experts_ddp": "ddp",
    "experts_ep": "ep",
    "experts_ep_fsdp": {"mesh": {"ep": 2}},
    "experts_ep_tp": {"mesh": {"ep": 2, "tp": 2}},
}
LOSSES = """
WITH means AS (
    SELECT case_name, world_size, step, avg(loss) AS loss
    FROM steps JOIN runs USING (session_id, run_id, attempt)
    WHERE loss IS NOT NULL AND status = 'ok'
    GROUP BY ALL
)
SELECT means.case_name, means.world_size, count(*), max(abs(means.loss / single.loss - 1))
FROM means JOIN means AS single USING (step)
WHERE single.case_name = if(starts_with(means.case_name, 'experts'), 'experts_single', 'single')
    AND means.case_name NOT IN ('single', 'experts_single')
GROUP BY ALL ORDER BY ALL
"""


def strategy(named: Any, ranks: int) -> Any | None:
    """The strategy on that many ranks; null if the mesh does not fit them."""
    if isinstance(named, str) or "mesh" not in named:
        return named
    sizes = dict(named["mesh"])
    if "pp" in sizes and sizes["pp"] is None:
        sizes |= {"pp": ranks // sizes["tp"], "dp_shard": 1}
    known = sizes.get("tp", 1) * sizes.get("pp", 1)
    fits = ranks % known == 0 and ranks >= known * max(sizes.get("dp_replicate") or 1, sizes.get("ep", 1))
    return {"mesh": sizes} if fits and (sizes.get("pp", 2) > 1) else None


def cases(every_ranks: list[int]) -> list[dict[str, Any]]:
    found = []
    for family, keys in ((MESHES, {}), (EXPERTS, {"workload": {"experts": 8}, "train": {"accumulate": 1}})):
        prefix = "experts_" if keys else ""
        found.append({"name": f"{prefix}single", "strategy": "single", "scaling": "none", "batch_per_rank": 64,
                      "world": [1], **keys})  # fmt: skip
        for name, named in family.items():
            for ranks in every_ranks:
                if (asked := strategy(named, ranks)) is not None:
                    found.append({"name": f"{name}_{ranks}", "strategy": asked, "scaling": "none",
                                  "global_batch": 64, "world": [ranks], **keys})  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    asked = parser.parse_args()
    suite = {
        "title": "Parity of meshes",
        "workload": {"name": "transformer_lm", "d_model": 32, "layers": 16, "heads": 8, "sequence_length": 16,
                     "vocab_size": 256, "tie_embeddings": False, "validation_examples": 0},
        "data": {"source": "text"},
        "train": {"accumulate": 8, "optimizer": "sgd", "learning_rate": 0.1},
        "device": "cpu",
        "measure": {"warmup": 2, "steps": STEPS - 2, "repeats": 1, "timeout_s": 600},
        "cases": cases(asked.ranks),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "parity.yaml").write_text(json.dumps(suite))
        results = str(folder / "r")
        run = [BENCH, "suite", str(folder / "parity.yaml"), "--results", results, "--ranks-per-node", "8"]
        subprocess.run(run, stdout=subprocess.DEVNULL, check=True)
        with duckdb.connect(str(folder / "r" / "results.duckdb"), read_only=True) as connection:
            rows = connection.execute(LOSSES).fetchall()
    print("| mesh | ranks | losses | largest difference |")
    print("| --- | --- | --- | --- |")
    for name, ranks, losses, difference in rows:
        print(f"| {name} | {ranks} | {losses} | {difference:.1e} |")


if __name__ == "__main__":
    main()
