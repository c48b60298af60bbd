"""Memory of one rank from the model's size, what a micro-batch keeps, and how the strategy lays both over the ranks.

What torch allocates for tensors, at the worst moment of a step. docs/predict.md says what is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.predict.sizes import ModelSize, WorkingSet
from bench.predict.traffic import Sharding, is_sharded, shard_count
from bench.records.run_spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class MemoryPerRank:
    """Bytes on the device of a rank."""

    parameters: int
    """With buffers."""
    gradients: int
    optimizer: int
    """Its state, and the average of the parameters."""
    activations: int
    """What forward and backward keep and compute with; or the optimizer's update, where that takes more."""
    communication: int
    """Parameters that are gathered and gradients that wait to be reduced."""

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.activations + self.communication


def memory_per_rank(spec: RunSpec, size: ModelSize, working: WorkingSet) -> MemoryPerRank:
    """At the peak of a step."""
    own = -(-size.parameter_bytes // shard_count(spec))
    offloaded = is_sharded(spec) and Sharding.of(spec).offloads
    on_device = 0 if offloaded else own
    return MemoryPerRank(
        parameters=on_device + size.buffer_bytes,
        gradients=on_device,
        optimizer=on_device * _copies(spec),
        activations=max(_activations(spec, size, working), 0 if offloaded else _update(spec, own, size)),
        communication=_communication(spec, size),
    )


def _activations(spec: RunSpec, size: ModelSize, working: WorkingSet) -> int:
    """A bare model's gradients come while activations go: with one micro-batch the two need not fit together."""
    if spec.strategy == "single" and spec.train.accumulate == 1:
        return max(0, working.peak_with_gradients_bytes - size.parameter_bytes)
    return working.peak_bytes


def _copies(spec: RunSpec) -> int:
    """Of the parameters that the optimizer and the average keep."""
    train = spec.train
    moments = int(train.momentum > 0) if train.optimizer == "sgd" else 2
    return moments + (train.ema_decay is not None)


def _update(spec: RunSpec, own: int, size: ModelSize) -> int:
    """What torch's optimizer makes on its way: of all parameters at once on CUDA, one after the other on a CPU."""
    train = spec.train
    if train.fused_optimizer or (train.optimizer == "sgd" and not train.weight_decay):
        return 0
    return own if spec.device_type == "cuda" else min(own, size.largest_parameter_bytes)


def _communication(spec: RunSpec, size: ModelSize) -> int:
    if spec.strategy == "ddp":
        return 0 if spec.strategy_options["gradient_as_bucket_view"] else size.parameter_bytes
    return _gathered(spec, size) if is_sharded(spec) else 0


def _gathered(spec: RunSpec, size: ModelSize) -> int:
    """The rest of the model, outside of all blocks, stays whole from forward to backward, its gradients too. Of the
    largest block there is: itself, the next one on its way, its gradients, and their copy that is reduced."""
    how = Sharding.of(spec)
    block = max(size.block_parameters, default=0)
    whole = size.parameters if how.keeps else size.rest_parameters + block
    on_its_way = block * (how.gathered + how.reduced)
    gradients = (size.rest_parameters + block) * how.gathered
    return whole * how.gathered + gradients + on_its_way + _unreduced(spec, size, how)


def _unreduced(spec: RunSpec, size: ModelSize, how: Sharding) -> int:
    """With several micro-batches the gradients of all but the last are summed up whole, on every rank."""
    if spec.train.accumulate == 1:
        return 0
    return size.parameters * (how.reduced if spec.strategy == "fsdp" else how.gathered)
