"""The head of a session: session.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from bench.records.run_spec import PlannedRun
from bench.records.vocabulary import (
    COMMAND,
    SCHEMA_VERSION,
    Axis,
    Pauses,
    RunOrder,
    Scaling,
    UtcTime,
    Whole,
    strategy_named,
)


@dataclass(frozen=True, kw_only=True)
class PlanEntry:
    """A run of the plan, as session.json lists it; plan.json has all of it."""

    run_id: str
    case_name: str
    strategy: str
    scaling: Scaling
    axis: Axis
    workers: Whole
    world_size: Whole
    nodes: Whole
    ranks_per_node: Whole
    threads: Whole
    repeat: Whole
    round: Whole | None = None
    position: Whole | None = None
    probe: bool = False
    skip_reason: str | None = None
    """Why the machine could not host it."""

    @classmethod
    def of(cls, run: PlannedRun) -> PlanEntry:
        values = {name: getattr(run.spec, name) for name in cls.names() if name != "skip_reason"}
        return cls(**values, skip_reason=run.skip_reason)

    @classmethod
    def names(cls) -> list[str]:
        return [field.name for field in fields(cls)]


@dataclass(frozen=True, kw_only=True)
class SessionHead:
    """One invocation of `bench suite` or `bench run`, or one import."""

    session_id: str
    suite: str
    title: str | None = None
    why: str | None = None
    """The purpose that the suite gives."""
    created_at: UtcTime
    finished_at: UtcTime | None = None
    """Null while runs of the plan are left."""
    command: list[str] = field(default_factory=list)
    quick: bool = False
    run_order: RunOrder | None = None
    """Null if the session was imported."""
    pauses: Pauses | None = None
    """The session's pauses, as --pauses said when it was resumed; null: as when its runs began."""
    tags: list[str] = field(default_factory=list)
    resolved: dict[str, Any] = field(default_factory=dict)
    """The suite with all defaults filled in."""
    slots: dict[str, Any] = field(default_factory=dict)
    """Slots of the machine; empty if the session was imported."""
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    """Facts of each node, by its index as text."""
    plan: list[PlanEntry] = field(default_factory=list)
    begun: list[dict[str, Any]] = field(default_factory=list)
    """Earlier starts of a resumed session: `at`, `environment` and `command` of each."""
    imported: dict[str, Any] | None = None
    """`format`, and `files` with their SHA-256; null if the session was measured."""
    schema_version: int = SCHEMA_VERSION

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measured_by(head: Mapping[str, Any]) -> Literal["run", "suite"]:
    """The command of `bench` that measures what a session.json holds, and resumes it. `bench run` began some older
    sessions of suites."""
    began = [*head.get("begun", []), head][0]["command"]
    is_of_commands = all(strategy_named(run["strategy"]) == COMMAND for run in head["plan"])
    return "run" if began[1:2] == ["run"] and is_of_commands else "suite"
