"""Memory per rank, from the model's size, the working set of a micro-batch, and how the strategy distributes them.

It is what torch allocates for tensors at the peak of a step. docs/predict.md lists what is not included.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.predict.network import Sharding, is_sharded, shard_count
from bench.records.run_spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """Size of a model before a strategy distributes it."""

    parameters: int
    parameter_bytes: int
    buffer_bytes: int
    largest_parameter_bytes: int
    block_parameters: list[int]
    """Parameters of each unit that is sharded or recomputed. The rest of the model, if any, is one more unit."""

    @property
    def units(self) -> int:
        return len(self.block_parameters) + (self.rest_parameters > 0)

    @property
    def rest_parameters(self) -> int:
        """Parameters outside all blocks."""
        return self.parameters - sum(self.block_parameters)


@dataclass(frozen=True, kw_only=True)
class WorkingSet:
    """Bytes of forward and backward of one micro-batch on one rank, with the batch, without the parameters."""

    kept_bytes: int
    """Kept after forward, for backward."""
    peak_bytes: int
    """The most at once, without gradients."""
    peak_with_gradients_bytes: int
    """The most at once while backward makes gradients and frees activations."""


@dataclass(frozen=True, kw_only=True)
class MemoryPerRank:
    """Bytes on a rank's device at the peak of a step."""

    parameters: int
    """Includes buffers."""
    gradients: int
    optimizer: int
    """The optimizer's state, and the average of the parameters."""
    activations: int
    """The working set of forward and backward, or the optimizer's temporary tensors if those are larger."""
    communication: int
    """Gathered parameters, and gradients that wait to be reduced."""

    @property
    def total(self) -> int:
        return self.parameters + self.gradients + self.optimizer + self.activations + self.communication


def memory_per_rank(spec: RunSpec, size: ModelSize, working: WorkingSet) -> MemoryPerRank:
    train = spec.train
    shard_bytes = -(-size.parameter_bytes // shard_count(spec))
    offloaded = is_sharded(spec) and Sharding.of(spec).offloads
    on_device = 0 if offloaded else shard_bytes

    moments = int(train.momentum > 0) if train.optimizer == "sgd" else 2
    optimizer_copies = moments + (train.ema_decay is not None)

    # A single model's gradients appear while activations go: with one micro-batch both never exist in full at once.
    activations = working.peak_bytes
    if spec.strategy == "single" and train.accumulate == 1:
        activations = max(0, working.peak_with_gradients_bytes - size.parameter_bytes)

    # The optimizer's temporary tensors: on CUDA for all parameters at once, on a CPU for one parameter after the other.
    update = shard_bytes if spec.device_type == "cuda" else min(shard_bytes, size.largest_parameter_bytes)
    if offloaded or train.fused_optimizer or (train.optimizer == "sgd" and not train.weight_decay):
        update = 0

    communication = 0
    if spec.strategy == "ddp" and not spec.strategy_options["gradient_as_bucket_view"]:
        communication = size.parameter_bytes
    elif is_sharded(spec):
        communication = _sharded_communication(spec, size)

    return MemoryPerRank(
        parameters=on_device + size.buffer_bytes,
        gradients=on_device,
        optimizer=on_device * optimizer_copies,
        activations=max(activations, update),
        communication=communication,
    )


def _sharded_communication(spec: RunSpec, size: ModelSize) -> int:
    """Bytes in transit under FSDP.

    The part outside all blocks stays gathered from forward to backward, and so do its gradients. The largest block
    counts with its parameters, the next block in transit, its gradients, and the copy of them that is reduced."""
    sharding = Sharding.of(spec)
    block = max(size.block_parameters, default=0)
    gathered = size.parameters if sharding.keeps else size.rest_parameters + block
    gradients = (size.rest_parameters + block) * sharding.gathered
    in_transit = block * (sharding.gathered + sharding.reduced)
    unreduced = 0
    if spec.train.accumulate > 1:  # every rank sums up whole gradients of all micro-batches but the last
        unreduced = size.parameters * (sharding.reduced if spec.strategy == "fsdp" else sharding.gathered)
    return gathered * sharding.gathered + gradients + in_transit + unreduced
