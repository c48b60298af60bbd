"""`find_batch` in a session: which probing run comes next, and which runs of the plan can then be measured.

What is known lies in the probing runs' own files, so that a resume goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.files import read_json
from bench.plan_batch import (
    Found,
    Probed,
    candidates,
    outcome_of,
    pending_sizes,
    probe_of,
    settled,
    size_of,
)
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import PlannedRun, RunSpec


class Search:
    """Of one session. `share_bytes`: what a rank of a run on the CPU may take of its node, where no limit is set."""

    def __init__(self, session: Path, share_bytes: Callable[[RunSpec], int]) -> None:
        self._session = session
        self._share_bytes = share_bytes
        self._tried: set[str] = set()
        """Probing runs of this process: one that says nothing is not begun twice."""

    def next(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The next probing run of every size that still has one."""
        known = {run.spec.run_id: run for run in plan if run.spec.probe}
        probes = [self._next(run, known) for run in pending_sizes(plan)]
        self._tried |= {probe.spec.run_id for probe in probes if probe is not None}
        return tuple(probe for probe in probes if probe is not None)

    def settle(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The plan with the batch of every size of which it was found."""
        found = {size_of(run): self.found(run.spec) for run in pending_sizes(plan)}
        return tuple(self._settled(run, found.get(size_of(run))) if run.pending else run for run in plan)

    def found(self, spec: RunSpec) -> Found | int:
        """What the search of its size came to, or the micro-batch at which it stands."""
        return outcome_of(candidates(spec), self._probed(spec))

    def why_not(self, planned: PlannedRun) -> RunOutcome:
        """The outcome of a run that stays pending: that of the probing run which says that there is nothing to run."""
        found = self.found(planned.spec)
        size = candidates(planned.spec)[0] if isinstance(found, Found) else found
        outcome = self._outcome(planned.spec, size)
        if outcome is None:
            return RunOutcome(
                status="skipped", error="its micro-batch was not looked for", skipped_for="search"
            )
        return RunOutcome(
            status=outcome.status,
            error=f"no micro-batch to measure with: find_batch tried {size}: {outcome.error}",
            skipped_for=outcome.skipped_for,
            failed_rank=outcome.failed_rank,
            failed_node=outcome.failed_node,
        )

    def sentences(self, plan: tuple[PlannedRun, ...]) -> list[str]:
        """One for each pending size whose search is over."""
        found = [(run, self.found(run.spec)) for run in pending_sizes(plan)]
        return [
            f"{size_of(run)}: {self._fits(run, ended)}" for run, ended in found if isinstance(ended, Found)
        ]

    def _fits(self, run: PlannedRun, found: Found) -> str:
        outcome = None if found.too_large is None else self._outcome(run.spec, found.too_large)
        status = outcome and outcome.status
        if found.largest is None:
            return f"not even a micro-batch of {found.too_large} fits ({status})"
        too_large = (
            "the largest tried" if found.too_large is None else f"{found.too_large} does not ({status})"
        )
        return f"a micro-batch of {found.largest} fits, {too_large}{_warning(run, found.largest)}"

    @staticmethod
    def _settled(run: PlannedRun, found: Found | int | None) -> PlannedRun:
        if not isinstance(found, Found) or found.largest is None:
            return run
        return settled(run, found.largest)

    def _next(self, run: PlannedRun, known: dict[str, PlannedRun]) -> PlannedRun | None:
        found = self.found(run.spec)
        if isinstance(found, Found):
            return None
        probe = probe_of(run, found, self._limit(run, known))
        if probe.spec.run_id in self._tried:
            return None
        return known.get(probe.spec.run_id, probe)

    def _limit(self, run: PlannedRun, known: dict[str, PlannedRun]) -> int | None:
        """The same for every probing run of a size: what the suite says, else on a CPU what was there at the first."""
        spec = run.spec
        if spec.measure.memory_limit_bytes is not None or spec.device_type != "cpu":
            return spec.measure.memory_limit_bytes
        first = known.get(_run_id(spec, candidates(spec)[0]))
        return self._share_bytes(spec) if first is None else first.spec.measure.memory_limit_bytes

    def _probed(self, spec: RunSpec) -> dict[int, Probed]:
        probed = {}
        for size in candidates(spec):
            outcome = self._outcome(spec, size)
            if outcome is None:
                break
            probed[size] = Probed(status=outcome.status, is_final=_is_final(outcome))
        return probed

    def _outcome(self, spec: RunSpec, size: int) -> RunOutcome | None:
        path = self._session / _run_id(spec, size) / "run.json"
        return RunOutcome.from_json(read_json(path)["outcome"]) if path.exists() else None


def _run_id(spec: RunSpec, size: int) -> str:
    return probe_of(PlannedRun(spec=spec), size, None).spec.run_id


def _is_final(outcome: RunOutcome) -> bool:
    """A failure that began on no rank, as when an agent is lost, says nothing about the micro-batch."""
    status = outcome.status
    return status in ("ok", "oom", "timeout") or (status == "failed" and outcome.failed_rank is not None)


def _warning(run: PlannedRun, largest: int) -> str:
    """Where the batch that is wanted divides badly; analysis/batch_words.py says it of a session."""
    spec = settled(run, largest).spec
    if 2 * spec.micro_batch >= largest:
        return ""
    examples = f"{spec.batch_per_rank} examples per rank divide into no larger equal parts that fit"
    return f"; measured with {spec.micro_batch} only: {examples}"
