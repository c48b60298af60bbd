"""Messages between the agents of a session. Each is sent as a JSON object with its `kind`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bench.records.vocabulary import DeviceType, Status


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU, or a MIG slice of one, that a process may use."""

    index: int
    """Its place in CUDA_VISIBLE_DEVICES, or on the machine without it. CUDA's number, unless it needs its name."""
    uuid: str | None = None
    """Null if it does not tell it."""
    sliced_gpu: str | None = None
    """UUID of the GPU of which it is a slice, or `unknown`; null: it is a whole GPU."""
    needs_its_name: bool = False
    """Whether CUDA shows it only to a process that has its UUID in CUDA_VISIBLE_DEVICES: where a GPU is cut into
    slices, a process sees one of them."""
    cpus: list[int] = field(default_factory=list)
    """CPUs near it; empty: unknown."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Cores, GPUs and slots of one agent."""

    task: int
    """Index of its task in the step; task 0 leads."""
    node: int
    """Index of its node in the step."""
    node_name: str
    local_task: int
    """Index of its task on its node."""
    cores: list[list[int]]
    """CPUs for this agent's ranks, by physical core (bench/machine/cpus.py)."""
    gpus: list[Gpu]
    """GPUs for this agent's ranks."""
    seen_gpus: list[Gpu]
    """These and the others that its process sees."""
    slots: int
    """Number of ranks; unless `fixed`, of ranks with one thread each."""
    fixed: bool
    """Whether --ranks-per-node or Slurm's number of GPUs set `slots`: then it is valid for any device and threads."""

    @property
    def cpus(self) -> list[int]:
        return [cpu for core in self.cores for cpu in core]

    def capacity(self, device_type: DeviceType, threads: int) -> int:
        """Number of ranks that fit here, each with its own device or CPUs."""
        if self.fixed:
            return self.slots
        return len(self.gpus) if device_type == "cuda" else len(self.cpus) // threads


@dataclass(frozen=True, kw_only=True)
class Place:
    """CPUs and device of one rank of a run."""

    rank: int
    local_rank: int
    """Index of the rank on its node."""
    cpus: list[int]
    gpu: Gpu | None
    """Null on CPU."""
    sampled_as: int | None
    """Index of the GPU for the process that reads the node's sensors; null if it does not see it, and on CPU."""


@dataclass(frozen=True, kw_only=True)
class Hello:
    """A follower's first message."""

    kind: Literal["hello"] = "hello"
    offer: Offer
    facts: dict[str, str]
    """Facts of its node (bench/machine/environment.py)."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A follower has imported torch."""

    kind: Literal["ready"] = "ready"


@dataclass(frozen=True, kw_only=True)
class Unusable:
    """A follower cannot host ranks."""

    kind: Literal["unusable"] = "unusable"
    reason: str


@dataclass(frozen=True, kw_only=True)
class Started:
    """A follower's ranks are running."""

    kind: Literal["started"] = "started"
    pids: list[int]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why a run has to end on every node."""

    kind: Literal["fault"] = "fault"
    status: Status
    """`failed`, `oom`, `timeout` or `interrupted`."""
    error: str
    rank: int | None
    """The rank that failed first; null if no rank is to blame."""
    node: int | None
    secondhand: bool = False
    """Whether it is a consequence: a rank lost its connection to another, whose own fault is the cause and follows."""
    is_of_the_command: bool = False
    """Whether a user's command ended so that its other runs would end alike: it starts a launcher, or its own options
    are wrong."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of the ranks of an agent, asked for when a run takes too long."""

    kind: Literal["progress"] = "progress"
    node: int
    rows: dict[int, int] = field(default_factory=dict)
    """Completed steps of each living rank."""
    stopped: list[int] = field(default_factory=list)
    """Ranks that a signal has stopped."""
    busy: dict[int, str] = field(default_factory=dict)
    """By rank, the innermost line of code, if it is not in torch: in torch, ranks wait for each other."""
    places: dict[int, str] = field(default_factory=dict)
    """By rank, the innermost line of the script that its main thread is in."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a run ended on one agent."""

    kind: Literal["report"] = "report"
    fault: Fault | None
    rank_facts: dict[str, Any]
    """Facts that ranks report of model and device: those of the first rank that has any, and `device_names` of all."""
    rows: dict[int, int]
    """Completed steps by rank, without those after the training."""
    setup_s: float | None
    """Seconds from the start of the run to the ranks' common barrier."""
    finalised: bool
    """Whether its rows are stored as Parquet; otherwise they are raw files in the run's folder."""


@dataclass(frozen=True, kw_only=True)
class Begin:
    """The session begins: a follower starts its fork server. Until then it can be dismissed at once."""

    kind: Literal["begin"] = "begin"
    loads_torch: bool
    """Whether a run of the plan needs torch."""
    uses_gpus: bool
    """Whether a run of the plan is on GPUs: then a follower tries its own."""


@dataclass(frozen=True, kw_only=True)
class HostRun:
    """A follower must host these ranks of a run."""

    kind: Literal["host"] = "host"
    run: dict[str, Any]
    """RunSpec.to_json()."""
    places: list[Place]
    rendezvous: str
    """URL at which the ranks meet: see bench/train/process_group.py."""
    shares_gpus: bool
    """Whether ranks of the run share a GPU, or are on slices of one: then NCCL cannot connect them."""
    folder: str
    """The run's folder in the results folder."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Another agent on the follower's node hosts these ranks: add their memory to that of its own ranks."""

    kind: Literal["watch"] = "watch"
    task: int
    pids: list[int]


@dataclass(frozen=True, kw_only=True)
class AskProgress:
    """A follower must send the progress of its ranks."""

    kind: Literal["ask_progress"] = "ask_progress"


@dataclass(frozen=True, kw_only=True)
class End:
    """A follower must end its ranks now."""

    kind: Literal["end"] = "end"
    fault: Fault


@dataclass(frozen=True, kw_only=True)
class Leave:
    """The session is over for a follower."""

    kind: Literal["leave"] = "leave"


Message = (
    Hello
    | Ready
    | Unusable
    | Started
    | Fault
    | Progress
    | Report
    | Begin
    | HostRun
    | Watch
    | AskProgress
    | End
    | Leave
)
