"""Plan a suite on the available slots: the ordered list of its runs. A pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

from bench import strategies, workloads
from bench.common.errors import InputError
from bench.machine.slots import slots_per_node, threads_per_rank
from bench.plan.find_batch import size_of
from bench.plan.world_sizes import Placement, obstacle, placements
from bench.records.run_spec import (
    MOST_MICRO_BATCHES,
    REPEATS_BEFORE_STOP,
    MeasureSpec,
    PlannedRun,
    RunSpec,
    Slots,
)
from bench.records.skip_reason import OVERSUBSCRIBE_HINT
from bench.records.vocabulary import DeviceType, RunOrder

if TYPE_CHECKING:
    from bench.suite.models import Case, ResolvedSuite

TRACED_STEPS = 2
"""Profiled steps with --trace, if the case sets none."""
CHECKED_STEPS = 100
"""Steps of --selfcheck, if the case sets no larger number."""
_MAX_RUNS = 100_000
_SHOWN_PROBLEMS = 20
"""Problems that a message names."""


def plan(
    suite: ResolvedSuite,
    slots: Slots,
    session_id: str,
    *,
    oversubscribe: bool = False,
    data_root: str | None = None,
    tags: tuple[str, ...] = (),
    trace: bool = False,
    selfcheck: bool | None = None,
    refuses: bool = True,
    run_order: RunOrder = "random",
) -> tuple[PlannedRun, ...]:
    """Every run, round by round: the first repeats of all cases, then the second repeats, and so on.

    Within a round, the runs are listed in the suite's order and take place in the order of their positions. Raises
    InputError, with the numbers, if a batch does not divide or a strategy cannot have a world size; without `refuses`
    such a run gets a skip reason instead."""
    planners = [
        _CasePlan(
            suite=suite,
            case=case,
            slots=slots,
            session_id=session_id,
            oversubscribe=oversubscribe,
            data_root=data_root,
            tags=tags,
            trace=trace,
            selfcheck=selfcheck,
            refuses=refuses,
        )
        for case in suite.cases
    ]
    found = (problem for planner in planners for problem in planner.problems())
    if problems := list(dict.fromkeys(islice(found, 50 * _SHOWN_PROBLEMS))):
        more = ["and more"] if len(problems) > _SHOWN_PROBLEMS else []
        lines = [f"suite {suite.name} cannot be planned:", *problems[:_SHOWN_PROBLEMS], *more]
        raise InputError("\n  ".join(lines))
    count = sum(planner.count() for planner in planners)
    if count > _MAX_RUNS:
        raise InputError(
            f"suite {suite.name} makes {count} runs: {_MAX_RUNS} at most; fewer repeats or cases"
        )
    planned = repeats_of_cases(run for planner in planners for run in planner.runs(0))
    repeats = max((bounds.fewest for bounds in planned.values()), default=0)
    rounds: list[list[PlannedRun]] = []
    for repeat in range(repeats):
        growing = [planner for planner in planners if repeat < planned[planner.case.name].fewest]
        listed = [run for planner in growing for run in planner.runs(repeat)]
        drawn = in_round(repeat, listed, run_order)
        if repeat == 1 and run_order == "random":
            drawn = _reverse(listed, rounds[0])
        elif repeat == _UNALIKE_ROUNDS - 1 and run_order == "random":
            draws = (in_round(repeat, listed, run_order, draw) for draw in range(_MOST_DRAWS))
            drawn = next((draw for draw in draws if not _keeps_a_position([*rounds, draw])), drawn)
        rounds.append(drawn)
    return tuple(run for drawn in rounds for run in drawn)


def _reverse(listed: list[PlannedRun], first: list[PlannedRun]) -> list[PlannedRun]:
    """The second round, in the reverse order of the first: a steady drift then adds the same to all sizes in both."""
    places = {size_of(run): run.spec.position or 0 for run in first}
    return _placed(1, listed, sorted(listed, key=lambda run: -places[size_of(run)]))


_UNALIKE_ROUNDS = 3
"""First rounds in which no size has the same position throughout: by chance the drift of the machine would then look
the same in each, and like a difference between sizes."""
_MOST_DRAWS = 100


def _keeps_a_position(rounds: list[list[PlannedRun]]) -> bool:
    """Whether a size has the same position in all of these rounds."""
    if len(rounds) < 2:
        return False
    positions = [{(size_of(run), run.spec.position) for run in drawn} for drawn in rounds]
    return bool(set.intersection(*positions))


def in_round(number: int, runs: Iterable[PlannedRun], run_order: RunOrder, draw: int = 0) -> list[PlannedRun]:
    """The same runs, each with its round and its position there.

    A random order is drawn from the session's id: drift of the machine then favours no size, and the same session has
    the same order. Another `draw` is another order."""

    def drawn(run: PlannedRun) -> bytes:
        return sha256(f"{run.spec.session_id} {number} {draw} {run.spec.run_id}".encode()).digest()

    listed = list(runs)
    return _placed(number, listed, sorted(listed, key=drawn) if run_order == "random" else listed)


def _placed(number: int, listed: list[PlannedRun], ordered: list[PlannedRun]) -> list[PlannedRun]:
    """The listed runs, each with the round's number and its position among the ordered ones."""
    position = {run.spec.run_id: index for index, run in enumerate(ordered)}
    return [
        replace(run, spec=replace(run.spec, round=number, position=position[run.spec.run_id]))
        for run in listed
    ]


def in_running_order(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Runs of a plan in the order in which they take place."""
    return sorted(runs, key=lambda run: (run.spec.round or 0, run.spec.position or 0))


def by_size(runs: Iterable[PlannedRun]) -> list[list[PlannedRun]]:
    """Runs grouped by case and size, in the order of each group's first run."""
    sizes: dict[str, list[PlannedRun]] = {}
    for run in runs:
        sizes.setdefault(size_of(run), []).append(run)
    return list(sizes.values())


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Repeats of the sizes of a case."""

    fewest: int
    """In the plan."""
    most: int
    """With those that a stopping rule may add."""


def repeats_of_cases(runs: Iterable[PlannedRun]) -> dict[str, Repeats]:
    """Repeats of each case: its own or, if larger, those of a case that may stop early and has it as the baseline.

    measure.until_efficiency has no effect on a case of one size that has no other baseline."""
    specs = [size[0].spec for size in by_size(runs)]
    sizes = Counter(spec.case_name for spec in specs)
    found: dict[str, Repeats] = {}
    for spec in specs:
        measure = spec.measure
        is_compared = sizes[spec.case_name] > 1 or baseline_of(spec) != spec.case_name
        asks = measure.until is not None or (measure.until_efficiency is not None and is_compared)
        own = Repeats(
            fewest=measure.fewest_repeats if asks else measure.repeats,
            most=measure.most_repeats if asks else measure.repeats,
        )
        of_baseline = Repeats(fewest=min(REPEATS_BEFORE_STOP, own.most), most=own.most)
        for name, bounds in ((spec.case_name, own), (baseline_of(spec), of_baseline)):
            if name == spec.case_name or asks:
                before = found.get(name, bounds)
                found[name] = Repeats(
                    fewest=max(before.fewest, bounds.fewest), most=max(before.most, bounds.most)
                )
    return found


def baseline_of(spec: RunSpec) -> str:
    """The case with whose smallest size the run is compared."""
    return spec.baseline or spec.case_name


def most_runs(runs: Iterable[PlannedRun]) -> int:
    """Number of runs with the repeats that a stopping rule may add to sizes that are not skipped."""
    sizes = by_size(runs)
    repeats = repeats_of_cases(size[0] for size in sizes)
    return sum(
        len(size) if size[0].skip_reason else max(len(size), repeats[size[0].spec.case_name].most)
        for size in sizes
    )


@dataclass(frozen=True, kw_only=True)
class _CasePlan:
    """The runs of one case on these slots."""

    suite: ResolvedSuite
    case: Case
    slots: Slots
    session_id: str
    oversubscribe: bool
    data_root: str | None
    tags: tuple[str, ...]
    trace: bool
    selfcheck: bool | None
    refuses: bool

    @property
    def measure(self) -> MeasureSpec:
        """The case's protocol with --selfcheck and --trace, which needs profiled steps."""
        asked = self.case.measure
        if self.selfcheck is not None:
            asked = replace(
                asked, selfcheck=max(asked.selfcheck or 0, CHECKED_STEPS) if self.selfcheck else 0
            )
        # profiled steps show whether the ranks of a command combine their gradients
        profiles = self.trace or workloads.runs_a_command(self.case.workload.name)
        return replace(asked, profiled=asked.profiled or TRACED_STEPS) if profiles else asked

    @property
    def device(self) -> DeviceType:
        return self.slots.device_type if self.case.device == "auto" else self.case.device

    @property
    def limit(self) -> int | None:
        """Largest world size of the case's strategy."""
        return strategies.load(self.case.strategy.name).max_world_size

    @property
    def least(self) -> int:
        """Smallest world size of the case's workload."""
        return getattr(workloads.load(self.case.workload.name), "smallest_world_size", 1)

    def count(self) -> int:
        """Largest number of runs."""
        return self.case.measure.most_repeats * sum(1 for _ in self._points())

    def runs(self, repeat: int) -> Iterator[PlannedRun]:
        """The case's runs of one repeat."""
        for placement, threads, written in self._points():
            yield self._run(placement, threads, repeat, written)

    def problems(self) -> Iterator[str]:
        """Why no machine could run a world size that the suite writes out, a line each."""
        for (nodes, ranks), _threads, written in self._points():
            world = nodes * ranks
            if self.limit is not None and world > self.limit:
                name = self.case.strategy.name
                text = f"{name} runs on {self.limit} rank at most, but world is {world}"
                yield f"{self._place('world')}case {self.case.name}: {text}"
            elif written and world < self.least:
                text = f"{self.case.workload.name} needs {self.least} ranks or more, but world is {world}"
                yield f"{self._place('world')}case {self.case.name}: {text}"
            elif written and self.refuses and (misfit := self._misfit(world)):
                yield f"{self._place('world')}case {self.case.name}: {misfit}"
            elif written and self.refuses and (uneven := self._uneven(world)):
                key = "batch_per_rank" if self.case.global_batch is None else "global_batch"
                yield f"{self._place(key)}case {self.case.name}: {uneven}"
        if self.case.scaling == "weak" and self.refuses:
            yield from self._growing_groups()

    def _growing_groups(self) -> Iterator[str]:
        """Weak scaling keeps the work of a rank, which falls if more ranks share a batch."""
        sharing = {
            nodes * ranks: self._ranks_per_batch(nodes * ranks) for (nodes, ranks), *_ in self._points()
        }
        if len(set(sharing.values())) > 1:
            sizes = ", ".join(f"{group} at {world}" for world, group in sorted(sharing.items()))
            yield (
                f"{self._place('world')}case {self.case.name}: weak scaling needs the same ranks_per_batch at every "
                f"world size, but it is {sizes} ranks: use scaling: strong or none"
            )

    def _place(self, key: str) -> str:
        """`FILE:LINE:COLUMN: `; empty if the suite was not read from a file."""
        where = self.suite.places.get((self.case.name, key))
        return f"{where}: " if where else ""

    def _points(self) -> Iterator[tuple[Placement, int, bool]]:
        """Placement, threads per rank, and whether the suite writes the world size out."""
        for threads in self.case.threads or (None,):
            per_node = slots_per_node(self.slots, self.device, threads)
            found = placements(self.case.world, per_node, self.slots, self.limit)
            enough = {place: written for place, written in found.items() if prod(place) >= self.least}
            for placement, written in (enough or found).items():
                yield placement, threads or threads_per_rank(self.slots, self.device), written

    def _run(self, placement: Placement, threads: int, repeat: int, written: bool) -> PlannedRun:
        case, (nodes, ranks) = self.case, placement
        world, by_threads = nodes * ranks, case.threads is not None and len(case.threads) > 1
        per_rank, batch = self._batches(world)
        fitting = written and self.refuses
        skip_reason = (None if fitting else self._misfit(world) or self._uneven(world)) or self._why_skipped(
            placement, threads
        )
        suffix = f".t{threads}" if case.threads is not None else ""
        spec = RunSpec(
            session_id=self.session_id,
            run_id=f"{case.name}.{nodes}x{ranks}{suffix}.r{repeat}",
            suite=self.suite.name,
            case_name=case.name,
            workload=case.workload.name,
            workload_options=case.workload.options,
            data=case.data,
            data_root=self.data_root,
            train=replace(case.train, accumulate=self._accumulation(per_rank)),
            measure=self.measure,
            strategy=case.strategy.name,
            strategy_options=case.strategy.options,
            scaling=case.scaling,
            axis="threads" if by_threads else "ranks",
            workers=threads if by_threads else world,
            world_size=world,
            nodes=nodes,
            ranks_per_node=ranks,
            threads=threads,
            oversubscribed=skip_reason is None and self._shares(ranks, threads),
            repeat=repeat,
            device_type=self.device,
            batch_per_rank=per_rank,
            global_batch=batch,
            ranks_per_batch=self._ranks_per_batch(world),
            baseline=case.baseline,
            tags=list(self.tags),
            find_batch=case.find_batch,
            trace=self.trace,
        )
        return PlannedRun(spec=spec, skip_reason=skip_reason, pending=case.find_batch is not None)

    def _batches(self, world: int) -> tuple[int, int]:
        """Examples per rank, and over all ranks, each once; 0 if find_batch finds them, or if nothing is trained."""
        groups = self._groups(world)
        if self.case.global_batch is not None:
            return self.case.global_batch // groups, self.case.global_batch
        per_rank = self.case.batch_per_rank or 0
        return per_rank, per_rank * groups

    def _ranks_per_batch(self, world: int) -> int:
        chosen = self.case.strategy
        return strategies.ranks_per_batch(chosen.name, chosen.options, world)

    def _groups(self, world: int) -> int:
        """Groups of ranks with a batch each."""
        return max(1, world // self._ranks_per_batch(world))

    def _accumulation(self, per_rank: int) -> int:
        """Micro-batches of a rank per optimizer step."""
        train = self.case.train
        return train.accumulate if train.micro_batch is None else max(1, per_rank // train.micro_batch)

    def _misfit(self, world: int) -> str | None:
        """Why the strategy cannot distribute the model over that many ranks; null if it can."""
        chosen = self.case.strategy
        return strategies.misfit(chosen.name, chosen.options, world, self.device)

    def _uneven(self, world: int) -> str | None:
        """The division that fails, with its numbers, and a batch that divides; null if there is none."""
        per_rank, batch = self._batches(world)
        groups = self._groups(world)
        if batch % groups:
            among = f"{groups} ranks" if groups == world else f"{groups} groups of {world // groups} ranks"
            return (
                f"global_batch {batch} does not divide among {among} ({batch} / {groups} = {batch / groups:g}): "
                f"{self._dividing(world)}"
            )
        micro_batch = self.case.train.micro_batch
        if micro_batch is not None and per_rank % micro_batch:
            return (
                f"{per_rank} examples per rank at {world} rank{'s' * (world > 1)} do not divide into micro-batches of "
                f"{micro_batch} (micro_batch): {per_rank} / {micro_batch} = {per_rank / micro_batch:g}: "
                f"{self._dividing(world)}"
            )
        micro = self._accumulation(per_rank)
        if micro_batch is not None and micro > MOST_MICRO_BATCHES:
            return (
                f"{per_rank} examples per rank at {world} rank{'s' * (world > 1)} are {micro:,} micro-batches of "
                f"{micro_batch}, and a step has {MOST_MICRO_BATCHES:,} at most: use a larger train.micro_batch"
            )
        if per_rank % micro:
            return (
                f"{per_rank} examples per rank at {world} rank{'s' * (world > 1)} do not divide into {micro} "
                f"micro-batches (accumulate): {per_rank} / {micro} = {per_rank / micro:g}: {self._dividing(world)}"
            )
        return None

    def _dividing(self, world: int) -> str:
        """The --set option for the next larger batch that divides."""
        case, (per_rank, batch) = self.case, self._batches(world)
        key, size, unit = "batch_per_rank", per_rank, case.train.micro_batch or case.train.accumulate
        if case.global_batch is not None:
            key, size, unit = "global_batch", batch, unit * self._groups(world)
        return f"--set cases.{case.name.partition('~')[0]}.{key}={-(-size // unit) * unit}"

    def _why_skipped(self, placement: Placement, threads: int) -> str | None:
        if self.device == "cuda" and self.slots.cuda_devices_per_node == 0:
            chosen, world = self.case.strategy, placement[0] * placement[1]
            hopeless = strategies.misfit(chosen.name, chosen.options, world, "cpu")
            return f"needs a GPU, this machine has none{'' if hopeless else ': --device cpu runs it without'}"
        if self.device == "cpu" and self.case.train.precision == "tf32":
            return "needs an NVIDIA GPU: tf32 exists only there; a CPU has fp32, bf16 and fp16"
        if prod(placement) < self.least:
            return f"needs {self.least} ranks or more, this machine has one slot: --oversubscribe --world {self.least}"
        stated = threads if self.case.threads is not None else None
        per_node = slots_per_node(self.slots, self.device, stated)
        reason = obstacle(placement, per_node, self.slots, threads)
        if reason is None:
            return None
        text, possible = reason
        if not possible:
            return text
        return None if self.oversubscribe else f"{text}{OVERSUBSCRIBE_HINT}"

    def _shares(self, ranks: int, threads: int) -> bool:
        """Whether ranks of a node share devices or cores, also with slots set by --ranks-per-node."""
        if self.device == "cuda":
            return ranks > self.slots.cuda_devices_per_node
        return ranks * threads > self.slots.cpus_per_node
