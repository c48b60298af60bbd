"""Time and memory of a shadow: `python benchmarks/shadow.py` runs rank 0 of 512 of a Transformer of 6.6 billion
parameters under fsdp."""

from __future__ import annotations

import argparse
import dataclasses

from bench.plan.larger_machine import planned
from bench.records.run_spec import Slots
from bench.shadow import shadow_text
from bench.shadow.shadow import shadow
from bench.suite.resolve import load_suite
from bench.suite.selection import Selection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="7b", help="size of transformer_lm")
    parser.add_argument("--world", default="64x8", help="nodes x ranks per node")
    arguments = parser.parse_args()
    settings = (
        f"cases.fsdp_recompute.workload.preset={arguments.preset}",
        "cases.fsdp_recompute.scaling=weak",
        "cases.fsdp_recompute.global_batch=null",
        "cases.fsdp_recompute.batch_per_rank=1",
    )
    suite = load_suite(
        "model_sweep", Selection(cases=("fsdp_recompute",), world=arguments.world, settings=settings)
    )
    slots = Slots(slots_per_node=8, cpus_per_node=8, device_type="cpu", fixed=True)
    (run,) = planned(suite, slots, None)
    found = shadow(run.spec)
    print("\n".join(shadow_text.lines(f"{arguments.preset} under fsdp on {arguments.world} ranks", [found])))
    print(f"largest message: {max(one.message_bytes for one in found.messages) / 2**20:,.0f} MiB")
    print(
        f"memory without activations: {_without(found.memory.activations, dataclasses.asdict(found.memory))}"
    )


def _without(activations: int, kinds: dict[str, int]) -> str:
    return f"{(sum(kinds.values()) - activations) / 2**30:.2f} GiB"


if __name__ == "__main__":
    main()
