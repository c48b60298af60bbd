"""Ranks that train two steps with divided sequences, on CPUs: torch has the ring, but no rule for a CPU's attention, so
this file gives it one.

Arguments: world size and mesh of each group of ranks as JSON, and a folder. Each rank writes its losses of two steps,
and of an evaluation after them, into `GROUP.RANK.json` there."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from forked_ranks import fork
from torch import distributed as dist
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.experimental._context_parallel import _attention as ring

from bench.strategies import _layout, mesh
from bench.workloads import transformer_lm

FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def handle(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ring attention with the CPU's kernel on the parts of DTensors [B, heads, T, D]."""
    over = next(one for one in args if isinstance(one, DTensor)).device_mesh
    local = [one.to_local() if isinstance(one, DTensor) else one for one in args]
    if op == FORWARD.default:
        query, key, value, *rest = local
        found = ring._templated_ring_attention(
            over.get_group(), 2, FORWARD, query=query, key=key, value=value, is_causal=rest[1],
            scale=kwargs.get("scale"),
        )  # fmt: skip
    else:
        gradient, query, key, value, out, logsumexp, dropout, is_causal = local
        found = ring._templated_ring_attention_backward(
            over.get_group(), 2, BACKWARD.default, grad_out=gradient, grad_out_name="grad_out", query=query, key=key,
            value=value, out=out, logsumexp=logsumexp, is_causal=is_causal, dropout_p=dropout,
            scale=kwargs.get("scale"),
        )  # fmt: skip
    return tuple(DTensor.from_local(one, over, [Shard(2)]) for one in found)


def train(sizes: dict[str, int], world: int, rank: int, rendezvous: Path) -> list[float]:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world)
    ring.custom_ops |= {FORWARD.default: handle, BACKWARD.default: handle}
    options = transformer_lm.Workload.Options(
        d_model=32, layers=2, heads=4, sequence_length=16, vocab_size=256, validation_examples=4
    )
    workload = transformer_lm.Workload(options, "synthetic", None, 0)
    workload.prepare()
    torch.manual_seed(0)
    model = workload.model()
    blocks = workload.blocks(model)
    strategy = mesh.Strategy(mesh.MeshOptions(**sizes))
    strategy.use(workload)
    model = strategy.wrap(model, blocks, device=torch.device("cpu"), precision="fp32")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    layout: _layout.Layout = strategy.layout(strategy.options, dist.get_world_size())
    groups = dist.get_world_size() // layout.ranks_per_batch
    group = dist.get_rank() // layout.ranks_per_batch
    losses = []
    for step in range(2):
        places = torch.arange(8 * step, 8 * step + 8).chunk(groups)[group].chunk(2)
        batches = [workload.batch(part, part) for part in places]
        if strategy.makes_steps:
            loss = strategy.forward_backward(model, workload.loss, batches, lambda _: None)
        else:
            loss = torch.zeros(())
            for number, batch in enumerate(batches):
                with strategy.accumulating(model, number == 1):
                    one = workload.loss(model, batch) / 2
                    one.backward()
                loss += one.detach()
        strategy.clip(model, 0.5)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    with torch.no_grad():
        batch = workload.validation_batch([0, 1, 2, 3])
        evaluate = (
            strategy.evaluate if strategy.makes_steps else lambda model, call, batch: call(model, batch)
        )
        scores, _ = evaluate(model, workload.evaluate, batch)
    dist.destroy_process_group()
    return [*losses, scores.mean().item()]


def main() -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    folder = Path(sys.argv[2])

    def rank_of(group: int, sizes: dict[str, int], world: int, rank: int) -> None:
        losses = train(sizes, world, rank, folder / f"{group}.rendezvous")
        (folder / f"{group}.{rank}.json").write_text(json.dumps(losses))

    for group, (world, sizes) in enumerate(json.loads(sys.argv[1])):
        ranks = [fork(partial(rank_of, group, sizes, world, rank)) for rank in range(world)]
        for rank in ranks:
            os.waitpid(rank, 0)


if __name__ == "__main__":
    main()
