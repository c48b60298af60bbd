"""Slurm's own record of a job, which a batch script stores in the session's folder: a container cannot ask Slurm.

`scontrol show job` writes JSON or, in versions that cannot, one line of Key=Value. Both become the same facts.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_JSON_TEXTS = {
    "slurm_job_name": "name",
    "slurm_partition": "partition",
    "slurm_qos": "qos",
    "slurm_nodes": "node_count",
    "slurm_node_list": "nodes",
    "slurm_restarts": "restart_cnt",
    "slurm_cpus": "cpus",
    "slurm_cpus_per_task_requested": "cpus_per_task",
    # with an accounting database
    "slurm_tres_requested": "tres_req_str",
    "slurm_tres_allocated": "tres_alloc_str",
    # without an accounting database GPUs are only in these
    "slurm_tres_per_job": "tres_per_job",
    "slurm_tres_per_node": "tres_per_node",
    "slurm_tres_per_socket": "tres_per_socket",
    "slurm_tres_per_task": "tres_per_task",
}
_JSON_MEBIBYTES = {
    "slurm_memory_per_node_bytes": "memory_per_node",
    "slurm_memory_per_cpu_bytes": "memory_per_cpu",
}
_JSON_TIMES = {"slurm_started_at": "start_time", "slurm_ends_at": "end_time"}
_LINE_TEXTS = {
    "slurm_job_name": "JobName",
    "slurm_partition": "Partition",
    "slurm_qos": "QOS",
    "slurm_nodes": "NumNodes",
    "slurm_node_list": "NodeList",
    "slurm_restarts": "Restarts",
    "slurm_exclusive": "Exclusive",
    "slurm_cpus": "NumCPUs",
    "slurm_cpus_per_task_requested": "CPUs/Task",
    "slurm_tres_requested": "ReqTRES",
    "slurm_tres_allocated": "AllocTRES",
    "slurm_tres_per_job": "TresPerJob",
    "slurm_tres_per_node": "TresPerNode",
    "slurm_tres_per_socket": "TresPerSocket",
    "slurm_tres_per_task": "TresPerTask",
}
_NOTHING = ("", "(null)", "N/A", "None")


def read_job(session: Path, job_id: str) -> dict[str, str] | None:
    """Facts from slurm-job-ID.json or .txt in the session's folder; null if neither can be read."""
    for name, parse in ((f"slurm-job-{job_id}.json", _from_json), (f"slurm-job-{job_id}.txt", _from_line)):
        try:
            return parse((session / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue  # missing, incomplete or of another version
    return None


def _from_json(text: str) -> dict[str, str]:
    (job,) = json.loads(text)["jobs"]
    found = {key: str(value) for key, name in _JSON_TEXTS.items() if (value := _plain(job.get(name)))}
    if detail := job.get("gres_detail"):
        found["slurm_gres_detail"] = "; ".join(detail)
    for key, name in _JSON_MEBIBYTES.items():
        if mebibytes := _plain(job.get(name)):
            found[key] = str(mebibytes * 2**20)
    for key, name in _JSON_TIMES.items():
        if seconds := _plain(job.get(name)):
            found[key] = datetime.fromtimestamp(seconds, UTC).isoformat()
    if minutes := _plain(job.get("time_limit")):
        found["slurm_time_limit_s"] = str(minutes * 60)
    return found


def _plain(value: Any) -> Any:
    """The number of {"set": true, "infinite": false, "number": N}; null if it is not set or infinite. Older versions of
    Slurm write the plain number."""
    if not isinstance(value, dict):
        return value
    return value["number"] if value["set"] and not value["infinite"] else None


def _from_line(text: str) -> dict[str, str]:
    # a value can contain `=` (TRES) and spaces (a job's name): it ends at the next Key=
    pairs = dict(re.findall(r"([A-Z][\w/:]*)=(.*?)(?=\s+[A-Z][\w/:]*=|\s*$)", text))
    if "JobId" not in pairs:
        raise ValueError("no line of scontrol show job")
    found = {key: pairs[name] for key, name in _LINE_TEXTS.items() if pairs.get(name, "") not in _NOTHING}
    if (seconds := _seconds(pairs.get("TimeLimit", ""))) is not None:
        found["slurm_time_limit_s"] = str(seconds)
    return found


def _seconds(text: str) -> int | None:
    """`1-02:03:04` -> 93784; null for UNLIMITED."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
