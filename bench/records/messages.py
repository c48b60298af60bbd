"""What the agents of a session say to each other: each message is a JSON object that has its `kind`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bench.records.vocabulary import DeviceType, Status


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What one agent can host."""

    task: int
    """Of the step; 0 leads."""
    node: int
    node_name: str
    local_task: int
    """Among its node's, from 0."""
    cpus: list[int]
    """Cores for this agent's ranks."""
    devices: list[int]
    """CUDA devices, by the index under which this process sees them."""
    slots: int
    """Ranks; where not `fixed`, of one thread each."""
    fixed: bool
    """Set by hand (--ranks-per-node) or by Slurm's number of GPUs: holds for every device and number of threads."""

    def hosts(self, device_type: DeviceType, threads: int) -> int:
        """Ranks that fit here, each with its own device or cores."""
        if self.fixed:
            return self.slots
        return len(self.devices) if device_type == "cuda" else len(self.cpus) // threads

    def cores(self, slot: int, device_type: DeviceType, threads: int) -> list[int]:
        """Of one rank here, the same at every world size. Ranks beyond the slots share cores."""
        count = max(1, self.hosts(device_type, threads))
        share = max(1, len(self.cpus) // count)
        if device_type == "cpu":
            # cores beyond the threads asked for would stand idle or, worse, not: a loader worker could take them
            share = min(share, max(threads, 1))
        first = slot % count * share
        return [self.cpus[(first + offset) % len(self.cpus)] for offset in range(share)]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one rank of a run runs."""

    rank: int
    local_rank: int
    """On its node."""
    cores: list[int]
    device_index: int | None
    """CUDA device; null on CPU."""


@dataclass(frozen=True, kw_only=True)
class Hello:
    """A follower's first words."""

    kind: Literal["hello"] = "hello"
    offer: Offer
    facts: dict[str, str]
    """What its node is."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A follower has torch imported."""

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
    """Where it began; null where no rank is to blame."""
    node: int | None
    secondhand: bool = False
    """A rank lost its connection to another: what befell that one is the cause, and will be heard of."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far the ranks of an agent have come."""

    kind: Literal["standing"] = "standing"
    node: int
    rows: dict[int, int] = field(default_factory=dict)
    """Completed steps of each living rank."""
    stopped: list[int] = field(default_factory=list)
    """Ranks that a signal has stopped."""
    busy: dict[int, str] = field(default_factory=dict)
    """Where each rank is that is not within torch, where ranks wait for each other."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """How a run went on one agent."""

    kind: Literal["report"] = "report"
    fault: Fault | None
    said: dict[str, Any]
    """What the first rank that could say anything said of model and device; with `device_names` of all."""
    rows: dict[int, int]
    """Completed steps by rank, those after the training left out."""
    setup_s: float | None
    """From the begin of the run to the ranks' common barrier."""
    finalised: bool
    """Whether its rows are Parquet; else they are raw files in the run's folder."""


@dataclass(frozen=True, kw_only=True)
class Begin:
    """The session begins: a follower may load torch. Until then it can be let go at once."""

    kind: Literal["begin"] = "begin"


@dataclass(frozen=True, kw_only=True)
class HostRun:
    """A follower is to host these ranks of a run."""

    kind: Literal["host"] = "host"
    run: dict[str, Any]
    """RunSpec.to_json()."""
    places: list[Place]
    rendezvous: str
    """What the ranks meet by: see bench/train/group.py."""
    folder: str
    """Of the run, in the results folder."""


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Another agent of the follower's node hosts these ranks: their memory is summed with its own."""

    kind: Literal["watch"] = "watch"
    task: int
    pids: list[int]


@dataclass(frozen=True, kw_only=True)
class AskStanding:
    """A follower is to say how far its ranks are."""

    kind: Literal["ask_standing"] = "ask_standing"


@dataclass(frozen=True, kw_only=True)
class End:
    """A follower is to end its ranks now."""

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
    | Standing
    | Report
    | Begin
    | HostRun
    | Watch
    | AskStanding
    | End
    | Leave
)
