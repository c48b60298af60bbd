"""What a rank sends in one optimizer step, by the strategy and its options: the table in docs/methodology.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from bench.predict.formulas import element_bytes_of
from bench.records.run_spec import RunSpec

Phase = Literal["forward", "backward", "last_backward"]
_KEEPS = ("grad_op", "shard_grad_op")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One operation of a step."""

    op: str
    phase: Phase
    """That hides it; `last_backward` is that of the last micro-batch."""
    scope: Literal["ranks", "groups"]
    """All ranks or those of a group of shards; or one rank of each group."""
    messages: int
    """Per step, of equal size."""
    message_bytes: float
    """Of all messages together; of scope `groups` before it is divided by a group's ranks."""


@dataclass(frozen=True, kw_only=True)
class Sharding:
    """How fsdp and fsdp1 move parameters and gradients."""

    keeps: bool
    """Parameters stay gathered between forward and backward."""
    gathered: int
    """Bytes of an element of a gathered parameter."""
    reduced: int
    """Bytes of an element of a reduced gradient."""
    offloads: bool

    @classmethod
    def of(cls, spec: RunSpec) -> Sharding:
        options = spec.strategy_options
        return cls(
            keeps=options.get("reshard", options.get("sharding_strategy")) in _KEEPS,
            gathered=element_bytes_of(options.get("param_dtype") or spec.train.precision),
            reduced=element_bytes_of(options.get("reduce_dtype")),
            offloads=bool(options.get("cpu_offload")),
        )


def is_sharded(spec: RunSpec) -> bool:
    return spec.strategy in ("fsdp", "fsdp1")


def shard_count(spec: RunSpec) -> int:
    """Ranks over which one copy of the parameters lies."""
    if not is_sharded(spec):
        return 1
    return min(spec.strategy_options.get("shard_size") or spec.world_size, spec.world_size)


def sent(spec: RunSpec, parameters: int, units: int) -> tuple[list[Sent], str | None]:
    """Everything, and why that is not known where it is not. `units`: blocks of the model, and one for the rest."""
    if spec.strategy == "single" or spec.world_size == 1:
        return [], None
    if spec.strategy == "ddp":
        return _ddp(spec.strategy_options, parameters)
    if is_sharded(spec):
        return _sharded(spec, parameters, units)
    return [], f"what strategy {spec.strategy} sends is not known"


def _ddp(options: dict[str, Any], parameters: int) -> tuple[list[Sent], str | None]:
    """DDP fills its buckets with gradients, which are compressed only then."""
    compression = options["gradient_compression"]
    if compression == "powersgd":
        return [], "what powersgd sends hangs on the shapes of all parameters"
    buckets = math.ceil(4 * parameters / (options["bucket_cap_mb"] * 2**20))
    reduced = Sent(
        op="all_reduce", phase="last_backward", scope="ranks", messages=buckets,
        message_bytes=parameters * element_bytes_of(compression),
    )  # fmt: skip
    return [reduced], None


def _sharded(spec: RunSpec, parameters: int, units: int) -> tuple[list[Sent], str | None]:
    how = Sharding.of(spec)
    if how.offloads:
        return [], "what cpu_offload copies to the host and back is not known"
    gathers = 1 if how.keeps and spec.strategy == "fsdp1" else spec.train.accumulate
    gathered, reduced = gathers * parameters * how.gathered, parameters * how.reduced
    found = [_all(op="all_gather", phase="forward", messages=gathers * units, message_bytes=gathered)]
    if not how.keeps:
        found += [_all(op="all_gather", phase="backward", messages=gathers * units, message_bytes=gathered)]
    found += [_all(op="reduce_scatter", phase="last_backward", messages=units, message_bytes=reduced)]
    if shard_count(spec) < spec.world_size:
        found += [
            Sent(
                op="all_reduce",
                phase="last_backward",
                scope="groups",
                messages=units,
                message_bytes=reduced,
            )
        ]
    return found, None


def _all(*, op: str, phase: Phase, messages: int, message_bytes: float) -> Sent:
    return Sent(op=op, phase=phase, scope="ranks", messages=messages, message_bytes=message_bytes)
