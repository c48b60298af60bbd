"""Two ranks that train, take the steps of `measure.wire`, and say as JSON what these changed and sent.

Arguments: the folder in which the ranks meet and write, the strategy, the measured factors as JSON, and `compiled` if
the model is."""

from __future__ import annotations

import json
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed

from bench import strategies, workloads
from bench.data import loader
from bench.measure import rank_tables
from bench.measure.rank_tables import Writer
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.train import after_training, wire
from bench.train.loop import Training
from bench.train.run_length import run_length
from tests.e2e.forked_ranks import fork

SENT: list[tuple[int, int]] = []
"""Elements and address of each message's tensor."""


def spec_of(strategy: str, factors: list[float], *, compiled: bool) -> RunSpec:
    measure = MeasureSpec(warmup=2, steps=4, repeats=1, wire=tuple(factors), wire_rounds=3, selfcheck=0)
    train = TrainSpec(compile=compiled, optimizer="adamw", clip_norm=1.0, ema_decay=0.9)
    return RunSpec(
        session_id="s", run_id="r", suite="s", case_name="c", workload="spiral_mlp", workload_options={},
        data=DataSpec(), train=train, measure=measure, strategy=strategy, strategy_options={}, scaling="weak",
        axis="ranks", workers=2, world_size=2, nodes=1, ranks_per_node=2, threads=1, repeat=0, device_type="cpu",
        batch_per_rank=16, global_batch=32,
    )  # fmt: skip


def spy(name: str, position: int, key: str) -> None:
    """Note the argument at that position, or of that name, of each call."""
    real = getattr(distributed, name)

    def noted(*arguments: Any, **options: Any) -> Any:
        tensor = options[key] if key in options else arguments[position]
        SENT.append((tensor.numel(), tensor.data_ptr()))
        return real(*arguments, **options)

    setattr(distributed, name, noted)


def state(training: Training) -> dict[str, Any]:
    """Everything from which the training would go on."""
    assert training.ema is not None
    local = [wire._local(one).detach().flatten().tolist() for one in training.model.parameters()]
    return {
        "weights": local,
        "optimizer": json.loads(json.dumps(training.optimizer.state_dict(), default=_plain)),
        "averages": [one.flatten().tolist() for one in training.ema.averages],
        "random": [torch.get_rng_state().tolist(), str(random.getstate()), str(np.random.get_state())],
    }


def _plain(tensor: torch.Tensor) -> Any:
    return wire._local(tensor).detach().flatten().tolist()


def after_a_step(training: Training, batch: Any) -> dict[str, Any]:
    """The state after a step on that batch, which is then undone."""
    batches, training.batches = training.batches, iter([batch])
    with wire._put_back(training):
        training.unrecorded_step()
        after = state(training)
    training.batches = batches
    return after


def main(folder: Path, rank: int, strategy_name: str, factors: list[float], *, compiled: bool) -> None:
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    spec = spec_of(strategy_name, factors, compiled=compiled)
    torch.manual_seed(0)
    workload = workloads.make(spec.workload_with_data)
    workload.prepare()
    kind = strategies.load(strategy_name)
    options = kind.Options()
    strategy = kind(options)
    own_model, device = workload.model(), torch.device("cpu")
    model = strategy.wrap(own_model, workload.blocks(own_model), device=device, precision="fp32")
    if compiled:
        model = torch.compile(model, backend="aot_eager")  # the graphs of the default, without code for them
    limit = run_length(spec.measure, workload.dataset_size, spec.global_batch)
    steps = limit + after_training.batches_after(spec, strategy, limit)
    training = Training(
        spec=spec, workload=workload, strategy=strategy, own_model=own_model, model=model, device=device,
        batches=loader.batches(workload, spec, rank, 1 + steps), limit=limit,
    )  # fmt: skip
    for _ in range(limit):
        training.unrecorded_step()
    training.schedule = None
    before, batch = state(training), next(training.batches)
    for name, position, key in (
        ("all_reduce", 0, "tensor"),
        ("all_gather_into_tensor", 1, "input_tensor"),
        ("reduce_scatter_tensor", 0, "output"),
        ("all_gather_single", 1, "input_tensor"),  # torch's own, in steps of the training
        ("reduce_scatter_single", 0, "output"),
    ):
        spy(name, position, key)
    ended = [after_a_step(training, batch)]
    usual = [elements for elements, _ in SENT]
    SENT.clear()
    step, sent, compilations = training.unrecorded_step, [], []  # of each step

    def noted_step() -> None:
        step()
        compilations.append(training.compilations._count)
        sent.append(SENT.copy())
        SENT.clear()

    training.unrecorded_step = noted_step  # type: ignore[method-assign]
    wire.run(training, folder, Writer(node=0, local_task=0, rank=rank))
    after, sent_in_wire = state(training), sent.copy()
    if strategy_name == "fsdp":
        for factor in factors:
            strategy.scale_messages(model, lambda factor=factor: factor)
            ended.append(after_a_step(training, batch))
    (written,) = (one for one in rank_tables.read(folder) if one.writer.rank == rank)
    rows = [[float(row["message_factor"]), int(row["round"]), int(row["step"])] for row in written.rows]
    answer = {
        "kept": {name: before[name] == after[name] for name in before},
        "rows": rows,
        "sent": sent_in_wire,
        "usual": usual,
        "compilations": compilations[: len(sent_in_wire)],
        "weights_after_a_step": [one["weights"] for one in ended],
        "weights": before["weights"],
    }
    (folder / f"{rank}.json").write_text(json.dumps(answer))
    left = sum(1 for _ in training.batches)
    assert left == 0, f"{left} batches were made and not used"
    distributed.destroy_process_group()


if __name__ == "__main__":
    folder, strategy, factors, *words = sys.argv[1:]
    answers = partial(
        main, Path(folder), strategy_name=strategy, factors=json.loads(factors), compiled="compiled" in words
    )
    ranks = [fork(partial(answers, rank=rank)) for rank in range(2)]
    ended_with = [os.waitpid(rank, 0)[1] for rank in ranks]
    os._exit(int(any(ended_with)))  # without freeing torch
