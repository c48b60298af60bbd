"""The events of profiled steps, as a file that `bench` reads, and the process groups that were used."""

from __future__ import annotations

import json

import torch

_KINDS = ("cpu_op", "user_annotation", "kernel")
_OF_THE_USER = 7
"""torch's RecordScope::USER_SCOPE."""


def start(device):
    """Start torch's profiler."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    profiler = torch.profiler.profile(activities=activities, record_shapes=True)
    profiler.start()
    return profiler


def stop(profiler, path, trace=None):
    """Write the events since `start`, one JSON object per line; with `trace`, also a Chrome trace to that path."""
    profiler.stop()
    if trace is not None:  # it gets its final name once it is complete
        profiler.export_chrome_trace(str(trace.with_name(f".{trace.name}")))
        trace.with_name(f".{trace.name}").rename(trace)
    temporary = path.with_suffix(".tmp")
    events = profiler.profiler.kineto_results.events()
    annotations = {event.name() for event in events if event.scope() == _OF_THE_USER}
    with temporary.open("w") as file:
        for event in events:
            line = _line(event, annotations)
            if line is not None:
                file.write(json.dumps(line) + "\n")
    temporary.rename(path)


def _line(event, annotations):
    kind, name = _kind(event, annotations), event.name()
    is_message = name.startswith(("gloo:", "c10d::"))
    is_call = name == "record_param_comms"
    if kind not in _KINDS and not is_message and not is_call:
        return None
    begin_ns = event.start_ns() if hasattr(event, "start_ns") else event.start_us() * 1000
    duration_ns = event.duration_ns() if hasattr(event, "duration_ns") else event.duration_us() * 1000
    found = {
        "name": name,
        "kind": kind,
        "begin_ns": begin_ns,
        "end_ns": begin_ns + duration_ns,
        "thread": event.start_thread_id(),
    }
    if is_message:
        found |= {"shapes": event.shapes(), "dtypes": event.dtypes()}
    if is_call and hasattr(event, "extra_meta"):
        found |= {"call": event.correlation_id(), "meta": event.extra_meta()}
    if kind == "kernel":
        found["call"] = event.linked_correlation_id()
    return found


def _kind(event, annotations):
    """`annotations`: names of all regions that record_function marked."""
    if hasattr(event, "activity_type"):  # torch 2.11 has none
        return event.activity_type()
    name = event.name()
    is_of_driver = name.startswith(("cuda", "Memcpy", "Memset"))
    if event.device_type() == torch.autograd.DeviceType.CUDA:
        # a marked region is also an event of the GPU, from its first kernel to its last
        return "kernel" if name not in annotations and not is_of_driver else None
    return "user_annotation" if event.scope() == _OF_THE_USER else "cpu_op" if not is_of_driver else None


def world_size():
    """Ranks of the script's process group; null without one."""
    group = torch.distributed
    return group.get_world_size() if group.is_available() and group.is_initialized() else None


def used_groups(before):
    """The process groups that have begun collectives since `calls_of_groups` returned `before`."""
    found = []
    for name, (description, ranks, calls) in calls_of_groups().items():
        new = calls - (before[name][2] if name in before else 0)
        if new > 0:
            found.append({"name": name, "description": description, "ranks": ranks, "calls": new})
    return found


def calls_of_groups():
    """By the name of each process group: its description, its ranks, and the number of collectives that it has begun.
    Empty if this version of torch does not tell."""
    if world_size() is None:
        return {}
    found = {}
    try:
        from torch.distributed import distributed_c10d as c10d

        for group, ranks in c10d._world.pg_group_ranks.items():
            name = c10d._world.pg_names.get(group, str(len(found)))
            description = getattr(group, "group_desc", "")
            found[name] = (description, sorted(ranks), group._get_sequence_number_for_group())
    except Exception:  # private names of torch, which another version may lack
        return {}
    return found
