"""Slurm: whether this is inside a job or a step, and the resources it was given."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, counted, ok, warn
from bench.slurm.step import id_of_srun


def check(facts: Facts) -> Verdicts:
    given = facts.environment
    job, step = given.get("SLURM_JOB_ID"), id_of_srun(given)
    if job is None:
        yield ok("not inside a Slurm job: runs stay on this machine")
        return
    nodes = given.get("SLURM_STEP_NUM_NODES" if step else "SLURM_JOB_NUM_NODES", "1")
    gpus = given.get("SLURM_GPUS_ON_NODE", "0")
    cpus = given.get("SLURM_CPUS_ON_NODE", "unknown")
    here = f"{counted(nodes, 'node')}, here {counted(cpus, 'CPU')} and {counted(gpus, 'GPU')}"
    if step is not None:
        tasks = given.get("SLURM_STEP_NUM_TASKS") or given.get("SLURM_NTASKS", "1")
        yield ok(f"task {given.get('SLURM_PROCID', '0')} of {tasks} in step {job}.{step}: {here}")
    elif nodes == "1":
        yield ok(f"in job {job}, in no step: {here}")
    else:
        yield warn(
            f"in job {job}, in no step: {here}, but without a step runs stay on this one",
            "start it through srun, one task per node",
        )
    if gpus == "0" and facts.gpus:
        yield warn(
            f"the job was given no GPU, yet CUDA may see {counted(facts.gpus, 'GPU')} of another job",
            "ask for them (--gpus-per-node), or measure with --device cpu",
        )
