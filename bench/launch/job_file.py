"""The file of `bench script --for pbs|lsf|mpi|k8s`: a batch script that calls mpiexec, or a manifest for Kubernetes.

Slurm's script is in bench/slurm/batch.py: only Slurm signals the session before the time limit, and has accounts.
"""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from bench.common.errors import InputError
from bench.machine import gpu_vendor
from bench.slurm import apptainer

Scheduler = Literal["pbs", "lsf", "mpi", "k8s"]
EARLY_S = 120
"""How long before the time limit the session is asked to stop."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.,@+-]*", re.ASCII)
_LONGEST_POD_NAME = 40
"""Most characters of a JobSet's name: its pods' names are longer, and have 63 at most."""
_HOW = {
    "pbs": "Submit it with qsub.",
    "lsf": "Submit it with `bsub < FILE`.",
    "mpi": "Run it with bash. Its arguments are for mpiexec, as in `bash FILE --hostfile hosts`.",
}


class _Template(string.Template):
    delimiter = "%"  # a shell script has its own dollar signs


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of `bench script` for every scheduler."""

    command: tuple[str, ...]
    """The call of `bench script`, for a comment at the top."""
    suite_name: str
    suite: tuple[str, ...]
    """Arguments of `bench suite`, without --session and --results."""
    session: str
    results: str
    folders: tuple[str, ...]
    """Further folders to bind into the container."""
    device: str | None
    """--device; null leaves the choice to the suite."""
    nodes: int
    gpus_per_node: int | None
    cpus_per_task: int | None
    account: str | None


@dataclass(frozen=True, kw_only=True)
class Job(JobOptions):
    """Options of `bench script` for a scheduler other than Slurm."""

    scheduler: Scheduler
    image: str
    """A file of Apptainer; for Kubernetes a reference in a registry."""
    time_s: int | None
    queue: str | None


def values_of(job: JobOptions) -> dict[str, str]:
    """Values for the template of a script, each quoted. Raises InputError for one that a script cannot have."""
    folders = [shlex.quote(apptainer.check_folder("folder", folder)) for folder in job.folders]
    return {
        "command": _command_line(job),
        "results": shlex.quote(apptainer.check_folder("--results", job.results)),
        "session": shlex.quote(job.session),
        "binds": "".join(f' --bind "$(realpath -m -- {folder})"' for folder in folders),
        "nv": f" {gpu_vendor.container_option()}" if job.gpus_per_node and job.device != "cpu" else "",
        "suite": shlex.join(job.suite),
    }


def _command_line(job: JobOptions) -> str:
    for word in job.command:
        if not word.isprintable():
            raise InputError(
                f"{word!r} has a line break or another control character: a script cannot show it"
            )
    return shlex.join(job.command)


def warning(image: str) -> str:
    """A comment line that says that the image is missing here; empty if it is not."""
    return (
        ""
        if apptainer.is_here(image)
        else f"# Where this was written there was no {image}: check the path.\n"
    )


def filled(template: Path, values: Mapping[str, str]) -> str:
    """The template's text with these values."""
    return _Template(template.read_text(encoding="utf-8")).substitute(values)


def job_file(job: Job) -> str:
    """The file's text. Raises InputError for a value that the scheduler or Apptainer would refuse or misread."""
    for option, name in (("--account", job.account), ("--partition", job.queue)):
        if name is not None and not _NAME.fullmatch(name):
            raise InputError(f"{option} {name!r}: names are letters, digits and . , @ + _ -")
    return _manifest(job) if job.scheduler == "k8s" else _script(job)


def _script(job: Job) -> str:
    head = {"pbs": _pbs, "lsf": _lsf, "mpi": _mpi}[job.scheduler](job)
    stop = ""
    if job.time_s is not None:
        stop = (
            f"\n# {EARLY_S // 60} minutes before the time limit the session stops, and keeps what it has measured.\n"
            f'(trap "kill \\$!" TERM; sleep {job.time_s - EARLY_S} & wait $! && touch -- "$results/$session/STOP") '
            "> /dev/null 2>&1 &\nclock=$!\ntrap 'kill \"$clock\" 2> /dev/null' EXIT\n"
        )
    values = values_of(job) | {
        "how": _HOW[job.scheduler],
        "head": "".join(f"{line}\n" for line in head),
        "folder": "${PBS_O_WORKDIR:-.}" if job.scheduler == "pbs" else ".",
        "warning": warning(job.image),
        "image": shlex.quote(apptainer.check_image(job.image)),
        "nodes": str(job.nodes),
        "stop": stop,
    }
    return filled(Path(__file__).with_name("job.sh"), values)


def _pbs(job: Job) -> Iterator[str]:
    """Directives of PBS Professional and OpenPBS."""
    chunk = [
        f"select={job.nodes}",
        *([f"ncpus={job.cpus_per_task}"] if job.cpus_per_task else []),
        "mpiprocs=1",
    ]
    chunk += [f"ngpus={job.gpus_per_node}"] if job.gpus_per_node else []
    yield f"#PBS -N {job.suite_name}"
    yield f"#PBS -l {':'.join(chunk)}"
    yield "#PBS -l place=scatter"
    yield "#PBS -j oe"
    if job.time_s is not None:
        yield f"#PBS -l walltime={job.time_s // 3600:02}:{job.time_s // 60 % 60:02}:{job.time_s % 60:02}"
    if job.account is not None:
        yield f"#PBS -A {job.account}"
    if job.queue is not None:
        yield f"#PBS -q {job.queue}"


def _lsf(job: Job) -> Iterator[str]:
    yield f"#BSUB -J {job.suite_name}"
    yield f"#BSUB -n {job.nodes}"
    cores = f" affinity[core({job.cpus_per_task})]" if job.cpus_per_task else ""
    yield f'#BSUB -R "span[ptile=1]{cores}"'
    if job.gpus_per_node:
        yield f'#BSUB -gpu "num={job.gpus_per_node}/host"'
    if job.time_s is not None:
        yield f"#BSUB -W {job.time_s // 3600}:{job.time_s // 60 % 60:02}"
    if job.account is not None:
        yield f"#BSUB -P {job.account}"
    if job.queue is not None:
        yield f"#BSUB -q {job.queue}"


def _mpi(_job: Job) -> Iterator[str]:
    """No directives: bash reads none."""
    yield from ()


def _manifest(job: Job) -> str:
    """A JobSet (jobset.x-k8s.io/v1alpha2) of one Indexed Job, with a pod for each node."""
    if job.folders:
        raise InputError(
            f"--for k8s: a pod cannot read {Path(job.folders[0]).absolute()}, a folder of this machine: put the suite "
            "and its scripts into the image, and data sets on the volume of the results; or name a suite that ships"
        )
    if job.account is not None or job.queue is not None:
        raise InputError("--account and --partition are not for Kubernetes: leave them out")
    if not job.results.startswith("/"):
        raise InputError(f"--results {job.results}: the volume needs a whole path, as in /results")
    name = re.sub(r"[^a-z0-9]+", "-", f"bench-{job.session.lower()}")[:_LONGEST_POD_NAME].strip("-")
    limits = {"cpu": job.cpus_per_task, "nvidia.com/gpu": job.gpus_per_node}
    container: dict[str, Any] = {
        "name": "bench",
        "image": job.image,
        "args": ["suite", *job.suite, "--session", job.session, "--results", job.results],
        "env": [{"name": "BENCH_TASKS", "value": str(job.nodes)}],
        "resources": {"limits": {key: value for key, value in limits.items() if value}},
        "volumeMounts": [
            {"name": "results", "mountPath": job.results},
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - of the pod
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": EARLY_S,
        "containers": [container],
        "volumes": [
            {"name": "results", "persistentVolumeClaim": {"claimName": "results"}},
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
        ],
    }
    indexed = {
        "completionMode": "Indexed",
        "completions": job.nodes,
        "parallelism": job.nodes,
        "backoffLimit": 0,
        **({} if job.time_s is None else {"activeDeadlineSeconds": job.time_s}),
        "template": {"spec": pod},
    }
    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [{"name": "bench", "replicas": 1, "template": {"spec": indexed}}]},
    }
    return (
        f"# {_command_line(job)}\n"
        "# Create it with `kubectl create -f FILE`; delete it and create it again to continue where it stopped.\n"
        "# The claim `results` is a volume that all pods may write to (ReadWriteMany).\n"
        + yaml.safe_dump(manifest, sort_keys=False, width=120)
    )
