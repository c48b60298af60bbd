"""Messages between the agents of a session. Each is sent as a JSON object with its `kind`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bench.records.vocabulary import DeviceType, Status


@dataclass(frozen=True, kw_only=True)
class Offer:
    """CPUs, GPUs and slots of one agent."""

    task: int
    """Index of its task in the step; task 0 leads."""
    node: int
    """Index of its node in the step."""
    node_name: str
    local_task: int
    """Index of its task on its node."""
    cpus: list[int]
    """Cores for this agent's ranks."""
    devices: list[int]
    """CUDA devices, by the index that this process sees."""
    slots: int
    """Number of ranks; unless `fixed`, of ranks with one thread each."""
    fixed: bool
    """Whether --ranks-per-node or Slurm's number of GPUs set `slots`: then it is valid for any device and threads."""

    def capacity(self, device_type: DeviceType, threads: int) -> int:
        """Number of ranks that fit here, each with its own device or cores."""
        if self.fixed:
            return self.slots
        return len(self.devices) if device_type == "cuda" else len(self.cpus) // threads

    def cores(self, slot: int, device_type: DeviceType, threads: int) -> list[int]:
        """Cores of the rank in a slot, the same at every world size. Ranks beyond the capacity share cores."""
        count = max(1, self.capacity(device_type, threads))
        share = max(1, len(self.cpus) // count)
        if device_type == "cpu":
            # cores beyond the threads would be idle or, worse, taken by a loader worker
            share = min(share, max(threads, 1))
        first = slot % count * share
        return [self.cpus[(first + offset) % len(self.cpus)] for offset in range(share)]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Cores and device of one rank of a run."""

    rank: int
    local_rank: int
    """Index of the rank on its node."""
    cores: list[int]
    device_index: int | None
    """CUDA device; null on CPU."""


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
    """The session begins: a follower may import torch. Until then it can be dismissed at once."""

    kind: Literal["begin"] = "begin"


@dataclass(frozen=True, kw_only=True)
class HostRun:
    """A follower must host these ranks of a run."""

    kind: Literal["host"] = "host"
    run: dict[str, Any]
    """RunSpec.to_json()."""
    places: list[Place]
    rendezvous: str
    """URL at which the ranks meet: see bench/train/process_group.py."""
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
