"""CPUs that this process may use: by affinity, and by the control group's quota."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, ok, warn


def check(facts: Facts) -> Verdicts:
    given, gpus = facts.cpus_given, len(facts.nvidia.gpus)
    yield ok(f"{given} of {facts.cpus_online} CPUs are given to this process")
    if facts.cpu_quota is not None and facts.cpu_quota < given:
        yield warn(
            f"the control group grants the time of {facts.cpu_quota:g} CPUs: ranks on {given} will be throttled",
            f"set --ranks-per-node {max(1, int(facts.cpu_quota))}, or raise the quota (docker: --cpus {given})",
        )
    if given < gpus:
        yield warn(
            f"{given} CPUs for {gpus} GPUs: ranks will wait for each other's Python",
            f"ask for at least {gpus} CPUs (Slurm: --cpus-per-task)",
        )
