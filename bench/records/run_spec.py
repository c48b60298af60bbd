"""What a run was asked to be: the frozen objects that pass from the plan to agents, ranks and files, as JSON.

No pydantic here: a rank that is forked from a warm process must not pay for validation again; the bounds in the
annotations are data for those who validate.
The suite's models (bench/suite/) validate into these; nobody checks them a second time.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen

from bench.records.vocabulary import Axis, DeviceType, Scaling

Precision = Literal["fp32", "tf32", "bf16", "fp16"]
CompileMode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
GarbageCollection = Literal["automatic", "frozen", "off"]


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Where examples come from and how they reach the device."""

    source: Annotated[str, MinLen(1)] = "synthetic"
    """`synthetic`, or a real source that the workload names (mnist_cnn: `digits`, `mnist`)."""
    workers: Annotated[int, Ge(0), Le(256)] = 0
    """Loader processes per rank; 0 loads in the rank itself."""
    pin_memory: bool = True
    """Page-locked host memory for faster copies; only on CUDA."""
    persistent_workers: bool = True
    """Keep loader processes between epochs; only with workers."""
    prefetch: Annotated[int, Ge(1), Le(1024)] = 2
    """Batches that each loader process prepares ahead; only with workers."""


@dataclass(frozen=True, kw_only=True)
class TrainSpec:
    """How one optimizer step is made."""

    precision: Precision = "fp32"
    """Arithmetic of forward and backward; parameters stay fp32 except under fsdp's mixed precision."""
    optimizer: Literal["adamw", "adam", "sgd"] = "adamw"
    """torch.optim's class."""
    fused_optimizer: bool = False
    """torch.optim's `fused`: one kernel for all parameters instead of several for each kind of operation."""
    momentum: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Of sgd; adam and adamw have betas of their own, which stay torch's."""
    weight_decay: Annotated[float, Ge(0)] | None = None
    """null is torch's default: 0.01 for adamw, 0 for adam and sgd."""
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    """Peak learning rate."""
    lr_schedule: Literal["constant", "linear_warmup", "linear", "cosine"] = "constant"
    """`linear_warmup` rises over warmup_steps and stays; `linear` and `cosine` rise, then fall to 0 at total_steps."""
    warmup_steps: Annotated[int, Ge(0)] = 0
    """Optimizer steps over which the learning rate rises; not for `constant`."""
    total_steps: Annotated[int, Ge(1)] | None = None
    """Optimizer steps at which `linear` and `cosine` reach zero; null: the run's own, warm-up and measured."""
    accumulate: Annotated[int, Ge(1), Le(65536)] = 1
    """Micro-batches per optimizer step, without synchronisation in between."""
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
    """Compile what the workload does around its model too, as logits in bf16 that become a loss in fp32; with compile,
    under strategy single."""
    cudnn_benchmark: bool = False
    """Let cuDNN try its convolution algorithms in the warm-up and keep the fastest; without effect on a CPU."""
    checkpointing: bool = False
    """Recompute activations in backward instead of keeping them."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] = 0
    """Seed of the first repeat; repeat r uses seed + r, at every world size."""


@dataclass(frozen=True, kw_only=True)
class MeasureSpec:
    """The measurement protocol."""

    warmup: Annotated[int, Ge(0), Le(1_000_000)] = 5
    """Optimizer steps before the measured ones; recorded, marked `warmup`. Of a workload that measures the machine:
    iterations of each operation and size, which are not recorded."""
    steps: Annotated[int, Ge(1), Le(10_000_000)] | None = None
    """Measured optimizer steps (or `epochs`). Of a workload that measures the machine: iterations of each operation
    and size."""
    epochs: Annotated[int, Ge(1), Le(100_000)] | None = None
    """Measured passes over the data instead of steps."""
    repeats: Annotated[int, Ge(1), Le(1000)] = 3
    """Runs of the same case and world size, each in fresh processes."""
    until: Annotated[float, Gt(0), Lt(1)] | None = None
    """`1%` or 0.01: repeat what is wider until the 95 % interval of throughput is this narrow, up to max_repeats."""
    max_repeats: Annotated[int, Ge(2), Le(1000)] | None = None
    """Most repeats of a case and world size that `until` may lead to; needed with it."""
    validate_every: Annotated[int, Ge(0), Le(10_000_000)] = 0
    """Optimizer steps from one validation to the next, warm-up included; 0 validates once, after the last step."""
    garbage_collection: GarbageCollection = "automatic"
    """`automatic`: when Python likes; `frozen`: likewise, but not what lived before the last warm-up step; `off`: never
    in measured steps, but before the last of warm-up and at validations."""
    nonfinite: Literal["record", "fail"] = "record"
    """What a loss that is NaN or infinite is: a finding, `nonfinite_losses`, or the end of the run."""
    timeout_s: Annotated[float, Gt(0), Le(2_678_400)] = 600.0
    """Longest time for one run before its ranks are ended."""
    memory_limit_bytes: Annotated[int, Ge(2**20), Le(2**50)] | None = None
    """`8GiB`, `500MB` or bytes: what a rank may allocate for model, gradients, optimizer, activations and batches."""
    profiled: Annotated[int, Ge(0), Le(1000)] = 0
    """Steps under torch's profiler after the measured ones: how long ranks communicate, and wait for it. ddp: then as
    many that synchronise nothing. They are in no other figure; 0 has none."""
    selfcheck: Annotated[int, Ge(0), Le(100_000)] | None = None
    """Steps after the measured ones of the first repeat, half of them without stamps: what measuring costs. They are in
    no other figure. null: as many as are under 2 % of all that a size takes, where these are 12 or more; 0: none."""

    @property
    def most_repeats(self) -> int:
        """Of a case and world size, those that `until` may add included."""
        return self.repeats if self.max_repeats is None else self.max_repeats


@dataclass(frozen=True, kw_only=True)
class FindSpec:
    """How the largest micro-batch that fits is looked for: doubled until one does not."""

    smallest: Annotated[int, Ge(1), Le(2**20)] = 1
    """Micro-batch that is tried first."""
    largest: Annotated[int, Ge(1), Le(2**20)] = 4096
    """Micro-batch beyond which none is tried."""
    steps: Annotated[int, Ge(2), Le(1000)] = 3
    """Optimizer steps of each probing run; from the second on the optimizer's own state is there."""


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run: everything a rank needs, and everything `runs` says about what was asked for."""

    session_id: str
    run_id: str
    """case . nodes x ranks-per-node [. tN threads] . rN repeat; unique in its session."""
    attempt: int = 0
    """0-based; a resume counts on."""
    suite: str
    case_name: str
    workload: str
    workload_options: dict[str, Any]
    """Validated, with the workload's defaults filled in."""
    data: DataSpec
    data_root: str | None = None
    """Folder given by --data."""
    train: TrainSpec
    measure: MeasureSpec
    strategy: str
    strategy_options: dict[str, Any]
    scaling: Scaling
    axis: Axis
    workers: int
    """n of the axis: ranks, or threads per rank."""
    world_size: int
    nodes: int
    ranks_per_node: int
    threads: int
    """CPU threads per rank, the same at every world size."""
    oversubscribed: bool = False
    """More ranks than slots: measured, marked, never judged."""
    repeat: int
    device_type: DeviceType
    batch_per_rank: int
    """Examples per rank and optimizer step; 0 while find_batch has not found what fits; 0 where nothing is trained."""
    global_batch: int
    """batch_per_rank x world_size."""
    baseline: str | None = None
    """Case whose smallest ok run is the baseline, where it is not this case's own."""
    tags: list[str] = field(default_factory=list)
    find_batch: FindSpec | None = None
    """Set where the micro-batch is not the suite's but the largest that fits."""
    probe: bool = False
    """It only finds out whether its micro-batch fits: part of no figure but the largest batch."""
    trace: bool = False
    """Keep the Chrome trace of the profiled steps."""

    @property
    def micro_batch(self) -> int:
        """Examples per rank and forward pass."""
        return self.batch_per_rank // self.train.accumulate

    @property
    def seed(self) -> int:
        """Follows the repeat, never the world size."""
        return self.train.seed + self.repeat

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> RunSpec:
        return cls(
            **{
                **value,
                "data": DataSpec(**value["data"]),
                "train": TrainSpec(**value["train"]),
                "measure": MeasureSpec(**value["measure"]),
                "find_batch": FindSpec(**find) if (find := value.get("find_batch")) else None,
            }
        )


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run of the plan, or the reason why this machine cannot host it."""

    spec: RunSpec
    skip_reason: str | None = None
    pending: bool = False
    """Its micro-batch is still to be found: `spec` has the batch that is wanted, not how it is divided."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What the machine at hand can host; all that planning knows of it."""

    nodes: int = 1
    slots_per_node: int
    """Ranks per node: GPUs, or CPUs // threads."""
    cpus_per_node: int
    """CPUs this allocation may use on each node."""
    device_type: DeviceType
    """What `device: auto` becomes."""
    cuda_devices_per_node: int = 0
    fixed: bool = False
    """slots_per_node was set by hand (--ranks-per-node) or by Slurm: it holds for every device and threads."""
