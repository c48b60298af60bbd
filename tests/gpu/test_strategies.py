"""Every strategy with every option, and most settings of a training, on stand-in GPUs."""

from __future__ import annotations

from dataclasses import fields

import yaml

from bench import strategies
from tests.gpu.conftest import Gpus
from tests.gpu.test_training import HEAD

CASES = """
  - {name: single, strategy: single, scaling: none, batch_per_rank: 4, world: [1],
     train: {clip_norm: 1.0, ema_decay: 0.9, lr_schedule: cosine}, data: {workers: 2}}
  - {name: fp16, strategy: single, scaling: none, batch_per_rank: 4, world: [1],
     train: {precision: fp16, accumulate: 2, checkpointing: true, fused_optimizer: true}, measure: {selfcheck: 4}}
  - {name: ddp, strategy: ddp, scaling: weak, batch_per_rank: 4, world: [1, 2], measure: {profiled: 2}}
  - {name: static, strategy: {name: ddp, static_graph: true, gradient_as_bucket_view: false, bucket_cap_mb: 1},
     scaling: weak, batch_per_rank: 4, world: [2], train: {accumulate: 2, checkpointing: true}}
  - {name: unused, strategy: {name: ddp, find_unused_parameters: true, broadcast_buffers: false,
     gradient_compression: fp16}, scaling: weak, batch_per_rank: 4, world: [2], train: {precision: tf32}}
  - {name: powersgd, strategy: {name: ddp, gradient_compression: powersgd, powersgd_rank: 2, powersgd_start_step: 3},
     scaling: weak, batch_per_rank: 4, world: [2], measure: {warmup: 4}}
  - {name: fsdp, strategy: {name: fsdp, reshard: grad_op, param_dtype: fp32, reduce_dtype: bf16},
     scaling: weak, batch_per_rank: 4, world: [2], train: {accumulate: 2, clip_norm: 1.0, ema_decay: 0.9}}
  - {name: offload, strategy: {name: fsdp, cpu_offload: true}, scaling: weak, batch_per_rank: 4, world: [2],
     train: {clip_norm: 1.0, precision: fp16}}
  - {name: hybrid, strategy: {name: fsdp, shard_size: 2}, scaling: weak, batch_per_rank: 4, world: [4]}
  - {name: flat, strategy: {name: fsdp1, sharding_strategy: shard_grad_op, use_orig_params: false},
     scaling: weak, batch_per_rank: 4, world: [2],
     train: {precision: fp16, accumulate: 2, clip_norm: 1.0}, workload: {watched: false}}
  - {name: flat_hybrid, strategy: {name: fsdp1, shard_size: 2}, scaling: weak, batch_per_rank: 4, world: [4]}
  - {name: tp, strategy: {name: tp, sequence_parallel: true}, scaling: strong, global_batch: 4, world: [2]}
  - {name: mesh, strategy: {name: mesh, tp: 2, dp_replicate: 2, dp_shard: 1, sequence_parallel: true},
     scaling: strong, global_batch: 4, world: [4]}
"""
WATCHED = '''
from __future__ import annotations

from dataclasses import dataclass

import torch

from bench.workloads.transformer_lm import TransformerLmOptions, Workload


@dataclass(frozen=True, kw_only=True)
class Options(TransformerLmOptions):
    """Options of transformer_lm."""

    watched: bool = True
    """Whether measured steps, but the last one, raise wherever the host would wait for the device."""


class Watched(Workload):
    """transformer_lm."""

    Options = Options
    losses = 0

    def loss(self, model, batch):
        if self.options.watched and next(iter(batch.values())).is_cuda:
            self.losses += 1
            # the first measured micro-batch is the fifth or an earlier one, the last is the twelfth or a later one
            if self.losses in (5, 12):
                torch.cuda.set_sync_debug_mode("error" if self.losses == 5 else "default")
        return super().loss(model, batch)
'''
FOUND = """
  - name: found           # below 3,072 tokens: see tests/gpu/driver/README.md
    workload: {name: transformer_lm, layers: 1, d_model: 64, heads: 2, sequence_length: 8, vocab_size: 4096,
               validation_examples: 0}
    strategy: single
    scaling: none
    world: [1]
    find_batch: {smallest: 32, largest: 256, steps: 2}
"""


def test_every_option_of_every_strategy_is_tried() -> None:
    tried = [case["strategy"] for case in yaml.safe_load(CASES)]
    named = [{"name": one} if isinstance(one, str) else one for one in tried]
    there_are = {
        (name, option.name) for name in strategies.names() for option in fields(strategies.load(name).Options)
    }
    assert there_are - {(one["name"], option) for one in named for option in one} == set()


def test_every_strategy_trains_without_waiting_and_only_ranks_touch_the_gpus(gpus: Gpus) -> None:
    gpus.count = 4
    (gpus.folder / "watched.py").write_text(WATCHED)
    done = gpus.suite(HEAD.replace("transformer_lm", "./watched.py:Watched") + CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = gpus.ask("SELECT DISTINCT status, device_name FROM runs WHERE NOT probe")
    assert runs == [{"status": "ok", "device_name": "NVIDIA A100-SXM4-80GB"}]
    ranks = gpus.ask(
        "SELECT case_name, count(DISTINCT (world_size, rank)) AS n, min(world_size) AS least, max(step) AS last, "
        "bool_and(data_ns + forward_ns + backward_ns + optimizer_ns = step_ns) AS adds_up, "
        "bool_and(memory_allocated_bytes BETWEEN 1 AND memory_reserved_bytes) AS has_memory "
        "FROM steps JOIN runs USING (session_id, run_id, attempt) "
        "WHERE kind IN ('warmup', 'measured') AND NOT probe GROUP BY case_name",
    )
    for case in ranks:
        assert case["n"] == (3 if case["case_name"] == "ddp" else case["least"])
        assert case["last"] == (13 if case["case_name"] == "powersgd" else 11)
        assert case["adds_up"]
        assert case["has_memory"]
    assert len(ranks) == len(yaml.safe_load(CASES))
    calls = gpus.calls()
    # the check before the session, and the ranks; never the process from which they are forked
    assert {call["process"][:11] for call in calls} == {"bench: pref", "bench: rank"}
    assert len({call["parent"] for call in calls}) == 1
    assert not {call["parent"] for call in calls} & {call["pid"] for call in calls}


def test_the_largest_batch_is_found_by_the_allocator_of_the_gpu(gpus: Gpus) -> None:
    gpus.settings["memory_bytes"] = 64 << 20
    done = gpus.suite(HEAD + FOUND)
    assert done.returncode == 0, done.stdout + done.stderr
    (limit,) = gpus.ask("FROM batch_limits")
    assert limit["too_large_micro_batch"] == 2 * limit["largest_micro_batch"]
    assert 0 < limit["used_bytes"] <= 64 << 20
