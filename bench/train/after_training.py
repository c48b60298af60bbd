"""Extra steps of a run, after all measured steps and validations.

First come steps with and without time stamps, alternately (`measure.selfcheck`); then, with `measure.profiled`, steps
under the profiler; then steps with longer and shorter messages (`measure.wire`); then, with `measure.profiled` and if
the strategy can, steps in which no rank synchronises. None of them changes the training's loss, validation or other
figures. The last kind lets the ranks' models diverge, so it ends the run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.measure.recorder import NO_SYNC, PROFILED
from bench.strategies import mesh
from bench.train import memory_limit, selfcheck, wire
from bench.train.unsynchronised import Unsynchronised

if TYPE_CHECKING:
    from bench.measure.profile.collective_names import RequestedMessage
    from bench.measure.rank_tables import Writer
    from bench.records.run_spec import RunSpec
    from bench.strategies import Strategy
    from bench.train.loop import Clock, Training


def profiled_steps(spec: RunSpec) -> int:
    """Number of profiled steps that are recorded."""
    return 0 if spec.probe else spec.measure.profiled


def batches_after(spec: RunSpec, strategy: Strategy, trained: int) -> int:
    """Number of optimizer steps after the `trained` ones. The profiled steps and the unsynchronised steps each begin
    with a step that is not recorded; under a mesh, one more tells the dimension of each message."""
    steps = profiled_steps(spec)
    kinds = 2 if strategy.has_own("unsynchronised") else 1
    more = kinds * (1 + steps) + _has_dimensions(spec, strategy) if steps else 0
    return 2 * selfcheck.pairs_of(spec, trained) + wire.steps_of(spec, strategy) + more


def _has_dimensions(spec: RunSpec, strategy: Strategy) -> bool:
    """Whether a step's messages are recorded, which says over which dimension of a mesh each goes. torch.compile would
    compile the step again for that."""
    return isinstance(strategy, mesh.Strategy) and spec.world_size > 1 and not spec.train.compile


def run(training: Training, clock: Clock, scratch: Path, writer: Writer) -> str | None:
    """Take all these steps. Writes rows of the tables `selfcheck`, `wire_steps`, `profile` and `profile_collectives`,
    and a trace, to `scratch`. Returns why there are no rows of profiled steps, if they were profiled without success.
    """
    if not batches_after(training.spec, training.strategy, training.steps):
        return None
    if training.spec.measure.memory_limit_bytes is not None:
        memory_limit.lift()  # the profiler's own memory is not the training's
    training.compilations.stop()
    training.schedule = None  # the training has ended
    training.garbage.settle()
    try:
        if pairs := selfcheck.pairs_of(training.spec, training.steps):
            selfcheck.run(training, pairs, scratch, writer)
        problem = None
        if profiled_steps(training.spec):
            problem = _profile(training, clock, scratch, writer)
        if wire.factors_of(training.spec, training.strategy):
            wire.run(training, scratch, writer)
        if profiled_steps(training.spec) and training.strategy.has_own("unsynchronised"):
            _do_without(training, clock)
        return problem
    finally:
        training.garbage.release()


def _profile(training: Training, clock: Clock, scratch: Path, writer: Writer) -> str | None:
    from bench.train.profiling import Profiling

    spec = training.spec
    sent: list[RequestedMessage] = []
    groups: dict[str, tuple[str, int]] = {}
    if _has_dimensions(spec, training.strategy):
        sent, groups = _messages_of_a_step(training)
    sharded_over = spec.strategy_options.get("shard_size") or spec.world_size
    profiling = Profiling(
        scratch,
        writer,
        training.device,
        gathering_ranks=min(sharded_over, spec.world_size),
        trace=spec.trace,
        sent=sent,
        groups=groups,
    )
    try:
        clock.resume()
        with profiling.recording():
            training.unrecorded_step()  # the first profiled step is slow
            for step in range(training.steps, training.steps + profiled_steps(spec)):
                with profiling.step(step):
                    training.step(clock, PROFILED)
            clock.flush()
    except Exception:
        clock.abandon()
        raise
    return profiling.problem


def _do_without(training: Training, clock: Clock) -> None:
    """Steps without synchronisation."""
    try:
        clock.resume()
        training.strategy = Unsynchronised(training.strategy)  # type: ignore[assignment] # a step needs no more
        training.unrecorded_step()
        for _ in range(profiled_steps(training.spec)):
            training.step(clock, NO_SYNC)
        clock.flush()
    except Exception:
        clock.abandon()
        raise


def _messages_of_a_step(training: Training) -> tuple[list[RequestedMessage], dict[str, tuple[str, int]]]:
    """The messages of one step in their order, and description and ranks of each process group."""
    from bench.measure.messages import MessageRecorder
    from bench.measure.profile.collective_names import RequestedMessage

    with MessageRecorder() as recorder:
        training.unrecorded_step()
    groups = {one.group.group_name: (one.group.group_desc, one.group.size()) for one in recorder.sent}
    sent = [
        RequestedMessage(op=one.op, message_bytes=one.message_bytes, group=one.group.group_name)
        for one in recorder.sent
    ]
    return sent, groups
