"""CPUs that this process may use, by its affinity and by the control group's quota."""

from __future__ import annotations

from bench.doctor.facts import Facts
from bench.doctor.finding import Verdicts, counted, ok, warn
from bench.slurm.allocation import fewer_than_asked


def check(facts: Facts) -> Verdicts:
    given, gpus = facts.cpus_given, facts.gpus
    verb = "is" if given == 1 else "are"
    yield ok(f"{given} of {counted(facts.cpus_online, 'CPU')} {verb} given to this process")
    if facts.cpu_quota is not None and facts.cpu_quota < given:
        quota = counted(f"{facts.cpu_quota:g}", "CPU")
        yield warn(
            f"the control group grants the time of {quota}: ranks on {given} will be throttled",
            f"set --ranks-per-node {max(1, int(facts.cpu_quota))}, or raise the quota (docker: --cpus {given})",
        )
    if facts.far_gpus:
        named = ", ".join(map(str, facts.far_gpus))
        yield warn(
            f"no CPU that this process may use is near GPU {named}, so data takes a longer way",
            "ask for CPUs of every socket (Slurm: --gres-flags=enforce-binding, or --exclusive)",
        )
    if given < gpus:
        asked = facts.environment.get("SLURM_CPUS_PER_TASK", "")
        yield warn(
            f"{counted(given, 'CPU')} for {counted(gpus, 'GPU')}: ranks will wait for each other's Python",
            fewer_than_asked(int(asked))
            if asked.isdecimal() and int(asked) > given
            else f"ask for at least {counted(gpus, 'CPU')} (Slurm: --cpus-per-task)",
        )
