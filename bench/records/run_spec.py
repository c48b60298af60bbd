"""The specification of a run: frozen objects that are passed from the plan to agents, ranks and files, as JSON.

The suite's models (bench/suite/) validate values once, by the bounds in the annotations, and create these objects.
Pydantic is not used here: a forked rank must not spend time on validating again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from bench.records.vocabulary import (
    COMMAND,
    NOT_IN_SETTINGS,
    Axis,
    Count,
    DeviceType,
    Scaling,
    Whole,
    case_named,
    strategy_named,
)

Precision = Literal["fp32", "tf32", "bf16", "fp16"]
Recomputed = Literal[False, True, "keep_attention", "keep_matmuls"]
"""Activations that are recomputed: none, all, or all but the named results."""
CompileMode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
MOST_MICRO_BATCHES = 65_536
"""Micro-batches per optimizer step."""
REPEATS_BEFORE_STOP = 5
"""Repeats before `until` and `until_efficiency` are checked: fewer often agree by chance, and intervals would miss the
truth too often."""
GarbageCollection = Literal["automatic", "frozen", "off"]


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Source of the examples, and how they are loaded."""

    source: Annotated[str, MinLen(1)] = "synthetic"
    """`synthetic`, or a real source that the workload names (mnist_cnn: `digits`, `mnist`)."""
    workers: Annotated[int, Ge(0), Le(256)] = 0
    """Loader processes per rank; 0 loads in the rank's own process."""
    pin_memory: bool = True
    """Page-locked host memory for faster copies; only on CUDA."""
    persistent_workers: bool = True
    """Keep loader processes between epochs; only with workers."""
    prefetch: Annotated[int, Ge(1), Le(1024)] = 2
    """Batches that each loader process prepares in advance; only with workers."""


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """The optimizer step."""

    precision: Precision = "fp32"
    """Arithmetic of forward and backward; parameters stay fp32 except under fsdp's mixed precision."""
    float8: bool = False
    """Compute the products of the blocks' linear layers in float8, each tensor scaled by its largest element. Only with
    bf16, on a GPU of compute capability 8.9 or more. A CPU can only try it: its products take hundreds of times as
    long."""
    optimizer: Literal["adamw", "adam", "sgd"] = "adamw"
    """torch's AdamW, Adam or SGD."""
    optimizer_options: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the optimizer, as in `{betas: [0.9, 0.95]}`."""
    fused_optimizer: bool = False
    """torch.optim's `fused`: one kernel for all parameters instead of several for each kind of operation."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Momentum of sgd."""
    weight_decay: Annotated[float, Ge(0)] | None = None
    """null is torch's default: 0.01 for adamw, 0 for adam and sgd."""
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    """Peak learning rate."""
    lr_schedule: Literal["constant", "linear_warmup", "linear", "cosine", "MultiStepLR"] = "constant"
    """`linear_warmup` rises over warmup_steps and stays; `linear` and `cosine` rise, then fall to 0 at total_steps.
    `MultiStepLR` is torch's."""
    lr_schedule_options: dict[str, Any] = field(default_factory=dict)
    """Arguments of MultiStepLR, as in `{milestones: [30, 60]}`, in optimizer steps."""
    warmup_steps: Annotated[int, Ge(0)] = 0
    """Optimizer steps over which the learning rate rises; not for `constant` and `MultiStepLR`."""
    total_steps: Annotated[int, Ge(1)] | None = None
    """Optimizer steps at which `linear` and `cosine` reach zero; null: all warm-up and measured steps of the run."""
    accumulate: Annotated[int, Ge(1), Le(MOST_MICRO_BATCHES)] = 1
    """Micro-batches per optimizer step, without synchronisation in between."""
    micro_batch: Annotated[int, Ge(1), Le(1_000_000_000)] | None = None
    """Examples per forward pass, instead of accumulate: a rank then accumulates its batch ÷ micro_batch times, so more
    ranks accumulate less. null: accumulate divides the batch."""
    clip_norm: Annotated[float, Gt(0)] | None = None
    """Largest gradient norm; null clips nothing."""
    ema_decay: Annotated[float, Ge(0), Lt(1)] | None = None
    """Keep an exponential moving average of the parameters, updated after each optimizer step; null keeps none."""
    ema_validation: bool = False
    """Validate the averaged parameters instead of the trained ones; needs ema_decay."""
    compile: bool = False
    """torch.compile the model; compilation happens in the warm-up, and the column `compile_s` says how long it took."""
    compile_mode: CompileMode = "default"
    """torch.compile's; only with compile."""
    compile_loss: bool = False
    """Also compile the workload's code around its model, such as the loss in fp32 of logits in bf16; only with compile
    and strategy single."""
    cudnn_benchmark: bool = False
    """Let cuDNN try its convolution algorithms in the warm-up and keep the fastest; no effect on a CPU."""
    checkpointing: Recomputed = False
    """Recompute activations in backward instead of keeping them. `keep_attention` keeps the results of attention,
    `keep_matmuls` also those of matrix products and convolutions: more memory, less work."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] = 0
    """Seed of the first repeat; repeat r uses seed + r, at every world size."""


@dataclass(frozen=True, kw_only=True)
class MeasureSpec:
    """The measurement protocol."""

    warmup: Annotated[int, Ge(0), Le(1_000_000)] = 5
    """Optimizer steps before the measured ones; recorded and marked `warmup`. A workload that measures the machine:
    iterations of each operation and size, which are not recorded."""
    steps: Annotated[int, Ge(1), Le(10_000_000)] | None = None
    """Measured optimizer steps (or `epochs`). A workload that measures the machine: iterations of each operation and
    size."""
    epochs: Annotated[int, Ge(1), Le(100_000)] | None = None
    """Measured passes over the data instead of steps."""
    repeats: Annotated[int, Ge(1), Le(1000)] = 3
    """Runs of the same case and world size, each in fresh processes."""
    until: Annotated[float, Gt(0), Lt(1)] | None = None
    """`1%` or 0.01: add repeats, up to max_repeats, until the 95 % interval of throughput is ±1 % or narrower."""
    until_efficiency: Annotated[float, Gt(0), Lt(1)] | None = None
    """The same for efficiency: the ratio of throughput to the baseline's."""
    max_repeats: Annotated[int, Ge(2), Le(1000)] | None = None
    """Most repeats of a case and world size with `until` or `until_efficiency`; required with them."""
    validate_every: Annotated[int, Ge(0), Le(10_000_000)] = 0
    """Optimizer steps from one validation to the next, warm-up included; 0 validates once, after the last step."""
    until_loss: float | None = None
    """Train until a validation's loss is at most this, in warm-up and measured steps together. `steps` or `epochs` is
    then the limit: a run that reaches it first has missed the target. Needs validate_every."""
    garbage_collection: GarbageCollection = "automatic"
    """When Python's garbage collection runs. `automatic`: when Python decides; `frozen`: likewise, but it skips objects
    from before the last warm-up step; `off`: never in measured steps, only before the last warm-up step and at
    validations."""
    nonfinite: Literal["record", "fail"] = "record"
    """On a loss that is NaN or infinite: `record` it, as the finding `nonfinite_loss`, or `fail` the run."""
    timeout_s: Annotated[float, Gt(0), Le(2_678_400)] = 600.0
    """Longest time for one run before its ranks are ended."""
    memory_limit_bytes: Annotated[int, Ge(2**20), Le(2**50)] | None = None
    """`8GiB`, `500MB` or bytes: limit for a rank's model, gradients, optimizer, activations and batches together."""
    profiled: Annotated[int, Ge(0), Le(1000)] = 0
    """Steps under torch's profiler after the measured ones, to measure communication and the wait for it. Under ddp as
    many steps without synchronisation follow. No other figure includes them; 0: none."""
    wire: Annotated[tuple[Annotated[float, Ge(0.01), Le(16)], ...], MaxLen(16)] = ()
    """Factors on the bytes of every message, as in `[0.25, 0.5, 1, 2, 4]`. After the measured steps come steps with
    each factor: 0.25 is as if links had 4 times the bandwidth. 1 is always included; under ddp there are also steps
    without messages. No other figure includes these steps. Empty: none."""
    wire_rounds: Annotated[int, Ge(1), Le(10_000)] = 20
    """Steps with each factor of `wire`."""
    selfcheck: Annotated[int, Ge(0), Le(100_000)] | None = None
    """Steps after the measured ones of the first repeat, half of them without timestamps, to measure recorder overhead.
    No other figure includes them. null: as many as take under 2 % of a size's time, if 12 or more; 0: none."""

    @property
    def most_repeats(self) -> int:
        """Most repeats of a case and world size, including those that `until` or `until_efficiency` may add."""
        return self.repeats if self.max_repeats is None else self.max_repeats

    @property
    def fewest_repeats(self) -> int:
        """Repeats of a case and world size before it may stop."""
        return max(self.repeats, min(REPEATS_BEFORE_STOP, self.most_repeats))


@dataclass(frozen=True, kw_only=True)
class FindSpec:
    """Search for the largest micro-batch that fits: it is doubled until one does not fit."""

    smallest: Annotated[int, Ge(1), Le(2**20)] = 1
    """First micro-batch that is tried."""
    largest: Annotated[int, Ge(1), Le(2**20)] = 4096
    """Largest micro-batch that is tried."""
    steps: Annotated[int, Ge(2), Le(1000)] = 3
    """Optimizer steps of each probing run; the optimizer allocates its state in the first."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run: everything that a rank needs, and every setting that the table `runs` shows."""

    session_id: str
    run_id: str
    """case . nodes x ranks-per-node [. tN threads] . rN repeat; unique in its session."""
    attempt: Whole = 0
    """0-based; each resume that repeats the run adds 1."""
    suite: str
    case_name: str
    workload: str
    workload_options: dict[str, Any]
    """Validated options, with the workload's defaults filled in."""
    data: DataSpec
    data_root: str | None = None
    """Folder given by --data."""
    train: TrainSpec
    measure: MeasureSpec
    strategy: str
    strategy_options: dict[str, Any]
    scaling: Scaling
    axis: Axis
    workers: Whole
    """Number of workers on the axis: ranks, or threads per rank."""
    world_size: Whole
    nodes: Whole
    ranks_per_node: Whole
    threads: Whole
    """CPU threads per rank, the same at every world size."""
    oversubscribed: bool = False
    """Whether it has more ranks than slots; such runs are measured and marked, but not judged."""
    repeat: Whole
    round: Whole | None = None
    """0-based round of the session, in which no size runs twice; null: a probe, or a run that was imported without."""
    position: Whole | None = None
    """0-based position in its round."""
    device_type: DeviceType
    batch_per_rank: Count
    """Examples per rank and optimizer step; 0 until find_batch has found the batch, and 0 without training. Ranks that
    share a batch all have it in full."""
    global_batch: Count
    """batch_per_rank x batch_groups: every example counts once."""
    ranks_per_batch: Whole = 1
    """Consecutive ranks that share a batch, as in tensor parallelism; 1: every rank has its own."""
    baseline: str | None = None
    """Case whose smallest ok run is the baseline; null: this case."""
    tags: list[str] = field(default_factory=list)
    find_batch: FindSpec | None = None
    """Set if the micro-batch is the largest that fits, not one that the suite sets."""
    probe: bool = False
    """Whether it only tests if its micro-batch fits; such runs count in no figure but the largest batch."""
    trace: bool = False
    """Keep the Chrome trace of the profiled steps."""

    @property
    def runs_a_command(self) -> bool:
        """Whether the ranks run a user's command; reads no file, because a stopped session may have lost its image."""
        return self.workload == COMMAND

    @property
    def world_text(self) -> str:
        """`8`, or `2x4` on two nodes."""
        return str(self.world_size) if self.nodes == 1 else f"{self.nodes}x{self.ranks_per_node}"

    @property
    def micro_batch(self) -> int:
        """Examples per rank and forward pass."""
        return self.batch_per_rank // self.train.accumulate

    @property
    def batch_groups(self) -> int:
        """Groups of ranks with a batch each; as many as ranks if none share theirs."""
        return self.world_size // self.ranks_per_batch

    @property
    def custom_files(self) -> list[str]:
        """Files of the user that the suite names, as in `FILE.py:CLASS`."""
        scripts = [] if self.workload != COMMAND else [self.workload_options["script"]]
        parts = (self.workload, self.strategy)
        return [*(part.rpartition(":")[0] for part in parts if ":" in part), *filter(None, scripts)]

    @property
    def workload_with_data(self) -> dict[str, Any]:
        """All that makes a workload: the argument of `workloads.make`."""
        return {
            "workload": self.workload,
            "options": self.workload_options,
            "source": self.data.source,
            "data_root": self.data_root,
            "seed": self.seed,
        }

    @property
    def seed(self) -> int:
        """Seed of the run. It depends on the repeat, never on the world size."""
        return self.train.seed + self.repeat

    def to_json(self) -> dict[str, Any]:
        value = dataclasses.asdict(self)
        value["measure"]["wire"] = list(self.measure.wire)  # JSON has no tuples
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunSpec:
        """Ignores keys of other versions."""
        measure = value["measure"]
        return cls(
            **_known(cls, value)
            | {
                "strategy": strategy_named(value["strategy"]),
                "data": DataSpec(**_known(DataSpec, value["data"])),
                "train": TrainSpec(**_known(TrainSpec, value["train"])),
                "measure": MeasureSpec(
                    **_known(MeasureSpec, measure) | {"wire": tuple(measure.get("wire", ()))}
                ),
                "find_batch": FindSpec(**find) if (find := value.get("find_batch")) else None,
            }
        )


_SETTINGS = (
    "workload", "workload_options", "data", "train", "strategy", "strategy_options", "scaling", "axis",
    "batch_per_rank", "global_batch",
)  # fmt: skip
"""Settings that a run's training depends on, besides `measure`. `threads` is a key of the fingerprint of its own."""


def settings_digest(spec: Mapping[str, Any]) -> str:
    """Digest of the settings of a specification as JSON, in which the names of workload and strategy have no folder."""
    measure = {key: value for key, value in spec["measure"].items() if key not in NOT_IN_SETTINGS}
    settings = {name: spec.get(name) for name in _SETTINGS} | {"measure": measure}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


_GONE: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("", "data", {"source_options": {}}),
    ("transformer_lm", "workload_options", {"experts": None, "experts_per_token": 2, "balance": 0.01}),
    (
        "mesh",
        "strategy_options",
        {"async_tp": False, "cp": 1, "ep": 1, "pp": 1, "schedule": "1f1b", "stages_per_rank": None},
    ),
)
"""Workload or strategy, part of a specification, and keys that it had in older sessions, each with its default."""


def in_present_words(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A stored specification as this version would write it: without the defaults of keys that are gone."""
    changed = dict(spec)
    for name, part, defaults in _GONE:
        value = spec.get(part)
        if isinstance(value, dict) and name in ("", spec.get("workload"), spec.get("strategy")):
            changed[part] = {
                key: item
                for key, item in value.items()
                if key not in defaults or json.dumps(item) != json.dumps(defaults[key])
            }
    if isinstance(word := spec.get("strategy"), str):
        changed["strategy"] = strategy_named(word)
        for key in ("case_name", "baseline"):
            if isinstance(case := spec.get(key), str):
                changed[key] = case_named(case, word)
    return changed


def _known(record: type, value: dict[str, Any]) -> dict[str, Any]:
    names = {one.name for one in dataclasses.fields(record)}
    return {name: item for name, item in value.items() if name in names}


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run of the plan, or the reason why this machine cannot host it."""

    spec: RunSpec
    skip_reason: str | None = None
    pending: bool = False
    """Whether find_batch has not found its micro-batch yet: then `spec` has the batch, not how it is divided."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Slots of a machine: all that planning knows of it."""

    nodes: int = 1
    slots_per_node: int
    """Ranks per node: GPUs, or CPUs // threads."""
    cpus_per_node: int
    """CPUs that this allocation may use on each node."""
    device_type: DeviceType
    """Device type that `device: auto` selects."""
    cuda_devices_per_node: int = 0
    """GPUs, and slices of GPUs in MIG mode."""
    cpus_per_gpu: int = 0
    """CPUs for each GPU, of those near it; 0 without a GPU."""
    fixed: bool = False
    """Whether --ranks-per-node or Slurm set slots_per_node: then it is valid for any device and threads."""
