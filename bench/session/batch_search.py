"""`find_batch` in a session: which probing run comes next, and which runs of the plan can then be measured.

The state of the search is in the probing runs' files, so a resume continues it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.common.files import read_json
from bench.plan.find_batch import (
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


class BatchSearch:
    """The searches of one session. `share_bytes`: memory of a CPU rank of a run, if the suite sets no limit."""

    def __init__(self, session: Path, share_bytes: Callable[[RunSpec], int]) -> None:
        self._session = session
        self._share_bytes = share_bytes
        self._tried: set[str] = set()
        """Probing runs that this process began; it does not repeat one that gave no answer."""

    def next(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The next probing run of every size that still has one."""
        known = {run.spec.run_id: run for run in plan if run.spec.probe}
        probes = []
        for run in pending_sizes(plan):
            found = self.found(run.spec)
            if isinstance(found, Found):
                continue
            probe = probe_of(run, found, self._limit(run.spec, known))
            if probe.spec.run_id not in self._tried:
                probes.append(known.get(probe.spec.run_id, probe))
        self._tried |= {probe.spec.run_id for probe in probes}
        return tuple(probes)

    def settle(self, plan: tuple[PlannedRun, ...]) -> tuple[PlannedRun, ...]:
        """The plan with the batch of every size whose search is over."""
        largest: dict[str, int] = {}
        for run in pending_sizes(plan):
            found = self.found(run.spec)
            if isinstance(found, Found) and found.largest is not None:
                largest[size_of(run)] = found.largest
        return tuple(
            settled(run, largest[size_of(run)]) if run.pending and size_of(run) in largest else run
            for run in plan
        )

    def found(self, spec: RunSpec) -> Found | int:
        """The result of the search for its size, or the micro-batch to try next."""
        probed = {}
        for size in candidates(spec):
            outcome = self._outcome(spec, size)
            if outcome is None:
                break
            # a failure that began on no rank, such as a lost agent, does not decide about the micro-batch
            is_final = outcome.status in ("ok", "oom", "timeout") or (
                outcome.status == "failed" and outcome.failed_rank is not None
            )
            probed[size] = Probed(status=outcome.status, is_final=is_final)
        return outcome_of(candidates(spec), probed)

    def outcome_without_batch(self, planned: PlannedRun) -> RunOutcome:
        """The outcome of a run that stays pending: that of the probing run that did not fit or was not run."""
        found = self.found(planned.spec)
        size = candidates(planned.spec)[0] if isinstance(found, Found) else found
        outcome = self._outcome(planned.spec, size)
        if outcome is None:
            return RunOutcome(
                status="skipped", error="its micro-batch was not searched", skipped_for="search"
            )
        return RunOutcome(
            status=outcome.status,
            error=f"no micro-batch to measure with: find_batch tried {size}: {outcome.error}",
            skipped_for=outcome.skipped_for,
            failed_rank=outcome.failed_rank,
            failed_node=outcome.failed_node,
        )

    def sentences(self, plan: tuple[PlannedRun, ...]) -> list[str]:
        """A sentence for each pending size whose search is over."""
        sentences = []
        for run in pending_sizes(plan):
            found = self.found(run.spec)
            if not isinstance(found, Found):
                continue
            limit = None if found.too_large is None else self._outcome(run.spec, found.too_large)
            status = limit and limit.status
            if found.largest is None:
                text = f"not even a micro-batch of {found.too_large} fits ({status})"
            elif found.too_large is None:
                text = (
                    f"a micro-batch of {found.largest} fits, the largest tried{_warning(run, found.largest)}"
                )
            else:
                text = (
                    f"a micro-batch of {found.largest} fits, {found.too_large} does not ({status})"
                    f"{_warning(run, found.largest)}"
                )
            sentences.append(f"{size_of(run)}: {text}")
        return sentences

    def _limit(self, spec: RunSpec, known: dict[str, PlannedRun]) -> int | None:
        """The memory limit of all probing runs of a size: the suite's; else, on a CPU, the share at the first."""
        if spec.measure.memory_limit_bytes is not None or spec.device_type != "cpu":
            return spec.measure.memory_limit_bytes
        first = known.get(_run_id(spec, candidates(spec)[0]))
        return self._share_bytes(spec) if first is None else first.spec.measure.memory_limit_bytes

    def _outcome(self, spec: RunSpec, size: int) -> RunOutcome | None:
        """How the probing run of that micro-batch ended; null if it has not."""
        path = self._session / _run_id(spec, size) / "run.json"
        return RunOutcome.from_json(read_json(path)["outcome"]) if path.exists() else None


def _run_id(spec: RunSpec, size: int) -> str:
    return probe_of(PlannedRun(spec=spec), size, None).spec.run_id


def _warning(run: PlannedRun, largest: int) -> str:
    """A warning if the suite's batch divides badly; analysis/wording/batch_search.py says the same of a session."""
    spec = settled(run, largest).spec
    if 2 * spec.micro_batch >= largest:
        return ""
    examples = f"{spec.batch_per_rank} examples per rank divide into no larger equal parts that fit"
    return f"; measured with {spec.micro_batch} only: {examples}"
