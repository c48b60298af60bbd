"""What `bench suite` was asked for: a new session of a suite, or the rest of an earlier one."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.container import gpus_left_out
from bench.errors import InputError
from bench.launch import following, run_suite
from bench.launch.gathering import Gathering
from bench.launch.run_suite import Ended
from bench.launch.session import SessionFolder, new_session_id, plan_summary, utc_now
from bench.launch.time_left import TimeLeft
from bench.paths import writable_results_folder
from bench.plan import plan
from bench.plan_estimate import estimate
from bench.plan_view import plan_lines
from bench.records.run_spec import PlannedRun, Slots
from bench.records.session_head import SessionHead
from bench.slots import detect, visible_gpus
from bench.slurm.step import Step
from bench.suite.models import ResolvedSuite
from bench.suite.resolve import Selection, load_suite
from bench.tags import check_tags


@dataclass(frozen=True, kw_only=True)
class Request:
    """The command line's wishes, by the names of its options."""

    suite: str | None
    quick: bool
    cases: tuple[str, ...]
    settings: tuple[str, ...]
    world: str | None
    repeats: int | None
    device: str | None
    ranks_per_node: int | None
    oversubscribe: bool
    trace: bool
    selfcheck: bool | None
    """Whether to measure what measuring costs; null: as the suite says."""
    results: str | None
    data_root: str | None
    session: str | None
    resume: str | None
    tags: tuple[str, ...]
    reserve: float | None = None
    """Seconds of the allocation, before its end, that no run may need."""
    launcher: str = "auto"
    """`auto` takes part in the Slurm step around this process, `local` is alone in it."""

    def __post_init__(self) -> None:
        check_tags(self.tags)

    def carry_out(self) -> Ended:
        """Run it. Raises InputError before anything is written where it cannot be run."""
        with Gathering(self._step, self._results, self.ranks_per_node) as gathering:
            if self.resume is None:  # a mistake in it is told before anyone is waited for
                self._refuse_a_container_without_gpus(self._suite)
            return self._carry_out(gathering)

    @property
    def follows(self) -> bool:
        """Whether another task of this step leads."""
        return self._step is not None and self._step.task > 0

    def follow(self) -> int:
        """Take part in what the leading task does; returns the exit code."""
        assert self._step is not None
        return following.follow(self._step, self._results, self.ranks_per_node)

    def _carry_out(self, gathering: Gathering) -> Ended:
        folder = self._folder
        if self.resume is not None or folder.exists:
            folder.refuse_an_import()
            self._refuse_what_a_resume_ignores()
            return run_suite.resume(folder, gathering.wait(), self._time_left)
        suite = self._suite
        gathered = gathering.wait()
        head = SessionHead(
            session_id=folder.session_id,
            suite=suite.name,
            title=suite.title,
            why=suite.why,
            created_at=utc_now(),
            quick=suite.quick,
            tags=list(self.tags),
            resolved=suite.to_json(),
        )
        return run_suite.begin(folder, head, self._plan(gathered.slots), gathered, self._time_left)

    def plan_lines(self) -> list[str]:
        """The plan with its estimate, for --dry-run."""
        return plan_lines(self._planned(), self._results)

    def plan_json(self) -> dict[str, Any]:
        """The same for --json, the plan as session.json will have it."""
        planned = self._planned()
        return {"plan": plan_summary(planned), "estimate": asdict(estimate(planned, self._results))}

    def _planned(self) -> tuple[PlannedRun, ...]:
        planned = self._plan(detect(self.ranks_per_node))
        run_suite.refuse_a_plan_of_skips(planned)
        return planned

    @property
    def _time_left(self) -> TimeLeft:
        return TimeLeft.here(self._results, self.reserve)

    @cached_property
    def _folder(self) -> SessionFolder:
        name = self.session if self.resume is None else self.resume
        return SessionFolder(self._results, new_session_id(self._suite.name) if name is None else name)

    @cached_property
    def _results(self) -> Path:
        return writable_results_folder(self.results)

    @cached_property
    def _step(self) -> Step | None:
        return Step.here() if self.launcher == "auto" else None

    @cached_property
    def _suite(self) -> ResolvedSuite:
        if self.suite is None:
            raise InputError(
                "name a suite, or a session with --resume; `bench list` shows the suites there are"
            )
        selection = Selection(
            quick=self.quick,
            settings=self.settings,
            cases=self.cases,
            world=self.world,
            repeats=self.repeats,
            device=self.device,
        )
        suite = load_suite(self.suite, selection)
        sys.stderr.write("".join(f"bench: {note}\n" for note in suite.notes))
        return suite

    def _plan(self, slots: Slots) -> tuple[PlannedRun, ...]:
        data_root = None if self.data_root is None else str(Path(self.data_root).resolve())
        return plan(
            self._suite,
            slots,
            self._folder.session_id,
            oversubscribe=self.oversubscribe,
            data_root=data_root,
            tags=self.tags,
            trace=self.trace,
            selfcheck=self.selfcheck,
        )

    def _refuse_a_container_without_gpus(self, suite: ResolvedSuite) -> None:
        left_out = gpus_left_out(visible_gpus())
        if left_out is not None and any(case.device != "cpu" for case in suite.cases):
            raise InputError(f"{left_out}; --device cpu measures without")

    def _refuse_what_a_resume_ignores(self) -> None:
        """A resumed session keeps its plan: an option that would change it must not be passed over in silence."""
        given = {
            "--quick": self.quick, "--case": self.cases, "--set": self.settings, "--world": self.world,
            "--repeats": self.repeats, "--device": self.device, "--tag": self.tags, "--data": self.data_root,
            "--oversubscribe": self.oversubscribe, "--trace": self.trace,
            "--selfcheck": self.selfcheck is True, "--no-selfcheck": self.selfcheck is False,
        }  # fmt: skip
        changed = [name for name, value in given.items() if value]
        if self.resume is not None:
            changed += [
                name for name, value in (("NAME|FILE", self.suite), ("--session", self.session)) if value
            ]
        if self.resume is not None and changed:
            raise InputError(
                f"session {self.resume} is resumed with the plan it began with: leave out {', '.join(changed)}, "
                "or begin a new session"
            )
        if self.resume is None and self._suite.to_json() != self._folder.head()["resolved"]:
            raise InputError(
                f"session {self.session} was begun with another suite or other options: choose another --session, "
                f"or finish it as it was with --resume {self.session}"
            )
