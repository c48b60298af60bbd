"""One rank of one run, in a process forked for it: set up, train and validate, write the outcome."""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import random
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import workloads
from bench.command import rank as command
from bench.common import torch_private
from bench.common.custom_file import place_of
from bench.common.error_text import describe
from bench.common.process import close_at_exec, die_with_parent, fork_children, name_process
from bench.records.run_spec import RunSpec
from bench.train import memory_limit, transport
from bench.train.memory_limit import MemoryLimit
from bench.train.rank_job import NO_OUTCOME, RankJob

if TYPE_CHECKING:
    import torch

    from bench.measure.rank_tables import Writer
    from bench.train.loop import Clock, Training
    from bench.workloads import Workload


def main(job_json: str) -> None:
    """Entry of the forked process. Ends the process with 0, or with 1 and an outcome that says why."""
    job = RankJob(**json.loads(job_json))
    spec = RunSpec.from_json(job.spec)
    name_process(f"rank {job.rank} of {spec.run_id}")
    fork_children()
    _become_a_rank(job, spec.nodes)
    if spec.runs_a_command:
        command.become(job, spec)
    try:
        outcome = _run(job, spec)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # a model may raise anything
        # torch's handler would raise here if a loader process ends
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        memory_limit.lift()
        traceback.print_exc()
        limited = spec.measure.memory_limit_bytes is not None
        used_share = memory_limit.used_share(job.device_index)
        out_of_memory = memory_limit.is_out_of_memory(error, limited=limited, used_share=used_share)
        place = None if out_of_memory else place_of(error)
        _write_outcome(
            job, {"error": describe(error) + (f" ({place})" if place else ""), "oom": out_of_memory}
        )
        _exit(1)
    _write_outcome(job, outcome)
    _exit(0)


def _become_a_rank(job: RankJob, nodes: int) -> None:
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # loader workers end with this group
    die_with_parent(job.server_pid)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal or Slurm sends these to every process; the agent decides what to do.
        signal.signal(number, signal.SIG_IGN)
    log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    close_at_exec()
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    faulthandler.enable(2)
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    os.sched_setaffinity(0, job.cpus)
    if job.cuda_visible_devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = job.cuda_visible_devices
    transport.meet_on(job.interface, nodes=nodes)


def _run(job: RankJob, spec: RunSpec) -> dict[str, Any]:
    import torch

    from bench.train import measure_machine

    device = torch.device("cpu") if job.device_index is None else torch.device("cuda", job.device_index)
    on_gpu = device.type == "cuda"
    configure(spec, device)
    transport.request_nccl_log(os.environ, Path(job.scratch), job.rank)
    if spec.strategy != "single":
        _join(job, spec, device)
    measures = workloads.measures_machine(spec.workload)
    outcome = measure_machine.run(job, spec, device) if measures else _train(job, spec, device)
    route: str | None = None
    if spec.world_size > 1:
        if on_gpu and not job.shares_gpus:
            route = transport.of_nccl(Path(job.scratch), job.rank)
        else:
            route = transport.of_gloo(gpus_shared=on_gpu)
    return {
        "error": None,
        **outcome,
        "device_name": torch.cuda.get_device_name(device) if on_gpu else None,
        "transport": route,
        **({transport.library().lower(): transport.nccl_version()} if on_gpu and not job.shares_gpus else {}),
    }


def _train(job: RankJob, spec: RunSpec, device: torch.device) -> dict[str, Any]:
    """Train and validate, with the process group joined. Returns properties of workload and model."""
    from bench.data import loader
    from bench.measure import evals
    from bench.train import after_training, process_group, user_modules
    from bench.train.counts import Counts
    from bench.train.validate import Validation

    workload = prepared(spec)
    memory = MemoryLimit(spec.measure.memory_limit_bytes, device)
    scratch = Path(job.scratch)
    writer = _writer(job)
    training, model = training_of(job.rank, spec, workload, device)
    process_group.keep(training)
    user_code = job.rank == 0 and bool(spec.custom_files)
    modules = user_modules.digests() if user_code else {}
    # of the first batch; 0: no tensor could be read, so nothing shows which batches are equal
    digests: list[int] = []

    @functools.cache
    def same() -> bool | None:
        """All ranks ask at the same time, once."""
        return same_batch(process_group.gathered(digests[0], device), spec.ranks_per_batch)

    def note(digest: int) -> None:
        digests.append(digest)
        if spec.ranks_per_batch > 1:  # others would train on nonsense until the end
            same()

    counts = Counts(workload)
    training.batches = loader.noting_the_first(
        memory.tightened(counts.counted(training.batches), spec.train.accumulate), note
    )
    clock = _clock(job, spec, training.steps, device)
    process_group.barrier(device)
    barrier_ns = clock.barrier()
    file = scratch / evals.FILE_NAME
    validation = Validation(training=training, rank=job.rank, file=file, barrier_ns=barrier_ns)
    training.run(clock, (lambda _: None) if spec.probe else validation)
    profile_problem = after_training.run(training, clock, scratch, writer)
    all_same = same()
    counted = counts.outcome(spec, training.steps, device)
    process_group.leave()
    return {
        **model,
        "dataset_size": workload.dataset_size,
        **counted,
        "couples_examples": _couples_examples(workload, training.model),
        "metric": workload.metric,
        "same_batch": all_same,
        "profile_problem": profile_problem,
        "memory_before_bytes": memory.before_bytes,
        **training.compilations.outcome(),
        # a method may have imported more since
        "modules": user_modules.digests() | modules if user_code else {},
    }


def _couples_examples(workload: Workload, model: torch.nn.Module) -> bool:
    """Whether an example's loss depends on the others of its batch; ranks that split a batch then train another model.

    True if the workload says so, or if the model normalises by the statistics of a rank's own batch. SyncBatchNorm uses
    the statistics of all ranks, which do not change with their number."""
    from torch.nn import SyncBatchNorm

    return workload.couples_examples or any(
        isinstance(part, torch_private.BatchNorm) and not isinstance(part, SyncBatchNorm)
        for part in model.modules()
    )


def same_batch(digests: list[int], ranks_per_batch: int) -> bool | None:
    """Whether all groups of ranks had the same first batch, by a digest of each rank; null for one group. Raises
    RuntimeError if ranks that share a batch got different ones."""
    groups = [
        set(digests[first : first + ranks_per_batch]) for first in range(0, len(digests), ranks_per_batch)
    ]
    for number, group in enumerate(groups):
        if len(group) > 1:
            first = number * ranks_per_batch
            raise RuntimeError(
                f"ranks {first} to {first + ranks_per_batch - 1} share a batch (ranks_per_batch), but the first was "
                "not the same on all of them: let batch() depend on its places and keys alone"
            )
    return None if len(groups) == 1 else len(set(digests)) == 1 and digests[0] != 0


def _join(job: RankJob, spec: RunSpec, device: torch.device) -> None:
    """Join the process group. An error here never counts as out of memory: its text may quote keys that others wrote
    to the store."""
    import torch

    from bench import strategies
    from bench.train import process_group

    try:
        cpu_too = strategies.needs_cpu_group(spec.strategy, spec.strategy_options)
        process_group.join(
            job.rendezvous,
            job.rank,
            spec.world_size,
            device,
            timeout_s=spec.measure.timeout_s,
            cpu_too=cpu_too,
            shared=job.shares_gpus,
        )
    except torch.OutOfMemoryError:
        raise
    except (MemoryError, RuntimeError, ValueError) as error:
        raise RuntimeError(f"the ranks could not connect to each other: {describe(error)}") from error


def configure(spec: RunSpec, device: torch.device) -> None:
    """Set torch's threads, precision and seeds for this process."""
    import numpy
    import torch

    from bench.train import compilation, precision

    torch.set_num_threads(spec.threads)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    precision.configure(spec.train.precision)
    torch.backends.cudnn.benchmark = spec.train.cudnn_benchmark
    torch.manual_seed(spec.seed)
    random.seed(spec.seed)
    numpy.random.seed(spec.seed)
    if spec.train.compile:
        compilation.exclude_current_folder()


def prepared(spec: RunSpec) -> Workload:
    """The run's workload, with its data."""
    workload = workloads.make(spec.workload_with_data)
    workload.prepare()
    return workload


def _writer(job: RankJob) -> Writer:
    from bench.measure.rank_tables import Writer

    return Writer(node=job.node, local_task=job.local_task, rank=job.rank)


def training_of(
    rank: int, spec: RunSpec, workload: Workload, device: torch.device
) -> tuple[Training, dict[str, int]]:
    """The training of this rank, whose process group is joined; and the size of its model."""
    import torch

    from bench import strategies
    from bench.data import loader
    from bench.train import after_training, checkpointing, float8
    from bench.train.loop import Training
    from bench.train.run_length import run_length

    kind = strategies.load(spec.strategy)
    own_model = workload.model()
    strategy = kind(kind.Options(**spec.strategy_options))
    strategy.use(workload)
    parameters = sum(parameter.numel() for parameter in own_model.parameters())
    blocks = workload.blocks(own_model)
    units = len(blocks) + (sum(part.numel() for block in blocks for part in block.parameters()) < parameters)
    if spec.train.float8:
        float8.use(blocks, device)
    if spec.train.checkpointing:
        checkpointing.recompute(blocks, spec.train.checkpointing)
    model = strategy.wrap(own_model, blocks, device=device, precision=spec.train.precision)
    if spec.train.compile and strategy.compiles_blocks:
        for block in blocks:
            block.compile(mode=spec.train.compile_mode)
    elif spec.train.compile:
        model = torch.compile(model, mode=spec.train.compile_mode)  # type: ignore[assignment]
    limit = run_length(spec.measure, workload.dataset_size, spec.global_batch)
    training = Training(
        spec=spec,
        workload=workload,
        strategy=strategy,
        own_model=own_model,
        model=model,
        device=device,
        batches=loader.batches(
            workload,
            spec,
            rank,
            limit + after_training.batches_after(spec, strategy, limit),
        ),
        limit=limit,
    )
    return training, {"parameters": parameters, "units": units}


def _clock(job: RankJob, spec: RunSpec, steps: int, device: torch.device) -> Clock:
    from bench.measure.recorder import StepFile, StrictStepFile
    from bench.train import after_training, selfcheck

    kind = StrictStepFile if spec.measure.nonfinite == "fail" else StepFile
    file = kind(job.step_file(), steps, job.identity(spec), further=2 * after_training.profiled_steps(spec))
    return selfcheck.clock_on(device, file, peaks=spec.probe)


def _write_outcome(job: RankJob, outcome: dict[str, Any]) -> None:
    temporary = job.outcome_file().with_suffix(".tmp")
    try:
        temporary.write_text(json.dumps(outcome))
        temporary.rename(job.outcome_file())
    except OSError:
        traceback.print_exc()
        _exit(NO_OUTCOME)


def _exit(code: int) -> None:
    # Skips the interpreter's shutdown: after a peer's death there may be threads that never return.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
