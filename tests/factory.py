"""Session folders on disk as docs/files.md describes them, from a compact description with exact numbers.

Without jitter every figure can be worked out by hand: a case whose `step_ms` says 95.23 at 4 workers has step
rows of exactly 95,230,000 ns on every rank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.machine.fingerprint import fingerprint
from bench.records.run_spec import DataSpec, MeasureSpec, Precision, RunSpec, TrainSpec
from bench.records.vocabulary import SCHEMA_VERSION, Axis, DeviceType, Scaling
from tests.factory_suite import planned, resolved
from tests.factory_tables import eval_table, place_table, sample_table, step_table, write_parquet

BEGAN = datetime(2026, 11, 21, 1, 49, 25, tzinfo=UTC)
OPTIONS = {"hidden": [64, 32, 16]}
FACTS = {
    "python": "3.11.7",
    "image": "none",
    "training_code": "0123456789abcdef",
    "scalebench": "0.1.0",
    "hostname": "node-a",
    "torch": "2.15.0",
    "cpu_model": "Some CPU @ 2.50GHz",
    "cpus_given": "8",
    "driver": "575.57.08",
    "cuda": "13.2",
    "gpu0_name": "NVIDIA H200",
    "gpu0_power_limit_w": "700",
}
"""Environment of the machine, source of the fingerprints; facts that a device lacks are not in its fingerprint."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case at several sizes. Keys of the mappings are n (workers) or (n, repeat)."""

    name: str
    step_ms: Mapping[int, float | Sequence[float]]
    """n -> step time of every repeat, or one step time for each repeat."""
    strategy: str = "ddp"
    strategy_options: Mapping[str, object] = field(default_factory=dict)
    scaling: Scaling = "strong"
    axis: Axis = "ranks"
    repeats: int = 3
    threads: int = 1
    """Threads per rank, if they are not the axis."""
    ranks_per_node: int = 8
    """Further ranks go to further nodes, which they must fill."""
    batch: int = 64
    """Global batch of a strong case, batch per rank otherwise."""
    warmup: int = 2
    steps: int = 10
    shares: tuple[float, float, float, float] = (0.1, 0.3, 0.5, 0.1)
    """Shares of a step's time: data, forward, backward, optimizer."""
    jitter: float = 0.0
    """Relative standard deviation of single steps; the seed is fixed."""
    losses: tuple[float, float] = (2.3, 0.3)
    """Loss of the first and the last step; a straight line between them, the same at every n."""
    accuracy: float | None = 0.9
    """Validation accuracy at the end, to which it rises from a tenth of it; null writes no evals.parquet."""
    validate_every: int = 0
    """Steps between validations; 0 validates at the end only."""
    validation_ms: float = 0.0
    """Pause between two steps in which ranks validate."""
    until_loss: float | None = None
    """The suite's measure.until_loss."""
    target_step: Mapping[tuple[int, int], int | None] = field(default_factory=dict)
    """(n, repeat) -> step of the validation at which the run reaches until_loss and ends; null: it misses the target
    and takes all its steps."""
    setup_s: float = 0.5
    """Start of a run to the ranks' barrier."""
    memory_bytes: int = 1_000_000_000
    other_cpu_pct: float = 1.0
    """Percent of the ranks' CPUs that other processes use."""
    gpu: Mapping[str, float] = field(default_factory=dict)
    """Unusual readings of every GPU's sensors, by column of their files."""
    found_bytes: int | None = None
    """Memory in use on every GPU a second before the ranks' barrier; null: no early reading."""
    device_type: DeviceType = "cpu"
    precision: Precision = "fp32"
    accumulate: int = 1
    statuses: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """(n, repeat) -> status other than ok."""
    attempts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(n, repeat) -> earlier attempts, which failed."""
    oversubscribed: frozenset[int] = frozenset()
    baseline: str | None = None
    rounds: bool = True
    """Whether repeat r of every size is in round r, as `bench suite` runs them; otherwise there are no rounds."""
    until: float | None = None
    """The suite's measure.until."""
    until_efficiency: float | None = None
    max_repeats: int | None = None
    tokens_per_example: int | None = None
    couples_examples: bool | None = False
    flops_per_example: float | None = None
    workload: str = "spiral_mlp"
    options: Mapping[str, Any] = field(default_factory=lambda: OPTIONS)
    """Options of the workload."""
    data: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    """Settings of train that are not a field here."""
    measure: Mapping[str, Any] = field(default_factory=dict)
    """Settings of measure that are not a field here."""
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """Facts about every run's end that are not a field here, such as parameters or measured_recompiles."""

    def step_ms_of(self, spec: RunSpec) -> float:
        """The requested step time of this run."""
        wanted = self.step_ms[spec.workers]
        return wanted[spec.repeat] if isinstance(wanted, Sequence) else wanted


def make_session(
    results: Path,
    cases: Sequence[Case],
    *,
    session_id: str = "20261121T014925Z-smoke-3f9a",
    suite: str = "smoke",
    tags: Sequence[str] = (),
    environment: Mapping[str, Mapping[str, str]] | None = None,
    created_at: datetime = BEGAN,
) -> Path:
    """Write a session's folder and return it."""
    folder = results / session_id
    folder.mkdir(parents=True)
    runs = [(case, spec) for case in cases for spec in specs(case, session_id, suite, tags)]
    for number, (case, spec) in enumerate(runs):
        facts = [FACTS | (environment or {}).get(str(node), {}) for node in range(spec.nodes)]
        made_by = fingerprint(spec, facts, {})
        _write_run(folder, case, spec, created_at + timedelta(seconds=10 * number), made_by)
    write_json(
        folder / "session.json",
        {
            "schema_version": SCHEMA_VERSION,
            "session_id": session_id,
            "suite": suite,
            "title": f"The suite {suite}",
            "why": "Does it scale?",
            "created_at": created_at.isoformat(),
            "finished_at": (created_at + timedelta(seconds=10 * len(runs))).isoformat(),
            "command": ["bench", "suite", suite],
            "quick": False,
            "tags": list(tags),
            "resolved": resolved(suite, cases),
            "plan": [planned(case, spec) for case, spec in runs],
            "slots": {"nodes": 1, "slots_per_node": 8, "cpus_per_node": 8, "device_type": "cpu"},
            "environment": environment or {"0": {"hostname": "node-a", "torch": FACTS["torch"]}},
        },
    )
    return folder


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, allow_nan=False, indent=1), encoding="utf-8")


def specs(case: Case, session_id: str, suite: str, tags: Sequence[str]) -> list[RunSpec]:
    """Specs of every n and repeat, repeats outermost as the plan interleaves them."""
    return [
        _spec(case, workers, repeat, position, session_id=session_id, suite=suite, tags=tags)
        for repeat in range(case.repeats)
        for position, workers in enumerate(case.step_ms)
    ]


def _spec(
    case: Case, workers: int, repeat: int, position: int, *, session_id: str, suite: str, tags: Sequence[str]
) -> RunSpec:
    world = workers if case.axis == "ranks" else 1
    nodes = -(-world // case.ranks_per_node)
    threads = workers if case.axis == "threads" else case.threads
    suffix = f".t{threads}" if case.axis == "threads" else ""
    strong = case.scaling == "strong"
    return RunSpec(
        session_id=session_id,
        run_id=f"{case.name}.{nodes}x{world // nodes}{suffix}.r{repeat}",
        attempt=case.attempts.get((workers, repeat), 0),
        suite=suite,
        case_name=case.name,
        workload=case.workload,
        workload_options=dict(case.options),
        data=DataSpec(**case.data),
        train=TrainSpec(precision=case.precision, accumulate=case.accumulate, **case.train),
        measure=MeasureSpec(
            warmup=case.warmup,
            steps=case.steps,
            repeats=case.repeats,
            validate_every=case.validate_every,
            until=case.until,
            until_loss=case.until_loss,
            until_efficiency=case.until_efficiency,
            max_repeats=case.max_repeats,
            **case.measure,
        ),
        strategy=case.strategy,
        strategy_options=dict(case.strategy_options),
        scaling=case.scaling,
        axis=case.axis,
        workers=workers,
        world_size=world,
        nodes=nodes,
        ranks_per_node=world // nodes,
        threads=threads,
        oversubscribed=workers in case.oversubscribed,
        repeat=repeat,
        round=repeat if case.rounds else None,
        position=position if case.rounds else None,
        device_type=case.device_type,
        batch_per_rank=case.batch // world if strong else case.batch,
        global_batch=case.batch if strong else case.batch * world,
        baseline=case.baseline,
        tags=list(tags),
    )


def _write_run(
    folder: Path, case: Case, spec: RunSpec, started_at: datetime, made_by: Mapping[str, str]
) -> None:
    run = folder / spec.run_id
    run.mkdir()
    for attempt in range(spec.attempt):
        aside = run / f"attempt{attempt}"
        aside.mkdir()
        earlier = RunSpec(**{**vars(spec), "attempt": attempt})
        write_attempt(aside, case, earlier, "failed", started_at, made_by=made_by)
    status = case.statuses.get((spec.workers, spec.repeat), "ok")
    write_attempt(run, case, spec, status, started_at, made_by=made_by)


def write_attempt(
    run: Path,
    case: Case,
    spec: RunSpec,
    status: str,
    started_at: datetime,
    *,
    made_by: Mapping[str, str],
) -> None:
    """One attempt's files; a run that ended early keeps its warm-up and half of its measured steps."""
    steps = spec.measure.steps or 0
    completed = 0 if status == "skipped" else case.warmup + (steps if status == "ok" else steps // 2)
    completed = min(completed, case.target_step.get((spec.workers, spec.repeat)) or completed)
    for node in range(spec.nodes if completed else 0):
        write_parquet(run / f"steps.node{node}.parquet", step_table(case, spec, node, completed), spec, node)
        write_parquet(
            run / f"samples.node{node}.parquet", sample_table(case, spec, node, completed), spec, node
        )
        places = place_table(case, spec, node)
        write_parquet(run / f"rank_places.node{node}.parquet", places, spec, node)
    evals = eval_table(case, spec, completed, whole=status == "ok")
    if evals.num_rows:
        write_parquet(run / "evals.parquet", evals, spec)
    write_json(
        run / "run.json",
        {
            "schema_version": SCHEMA_VERSION,
            "session_id": spec.session_id,
            "run_id": spec.run_id,
            "attempt": spec.attempt,
            "spec": spec.to_json(),
            "outcome": _outcome(case, spec, status, started_at, completed),
            "fingerprint": dict(made_by),
        },
    )


def _outcome(case: Case, spec: RunSpec, status: str, started_at: datetime, completed: int) -> dict[str, Any]:
    failed = status in ("failed", "oom", "timeout", "interrupted")
    errors = {"oom": "CUDA out of memory", "timeout": "no step for 600 s", "skipped": "more ranks than slots"}
    return {
        "status": status,
        "error": None if status == "ok" else errors.get(status, "RuntimeError: broken"),
        "failed_rank": spec.world_size - 1 if failed else None,
        "failed_node": spec.nodes - 1 if failed else None,
        "started_at": started_at.isoformat(),
        "elapsed_s": 0.0 if status == "skipped" else 1.0 + completed * case.step_ms_of(spec) / 1e3,
        "setup_s": 0.0 if status == "skipped" else case.setup_s,
        "device_name": "NVIDIA H200" if case.device_type == "cuda" else "cpu",
        "parameters": 2_804,
        "units": 4,
        "tokens_per_example": case.tokens_per_example,
        "couples_examples": case.couples_examples,
        "flops_per_step": case.flops_per_example and case.flops_per_example * spec.global_batch,
        "dataset_size": 10_000,
        "data_source": "synthetic",
        "steps_completed": completed,
        "finalised": True,
        **case.outcome,
    }
