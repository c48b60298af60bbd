"""The events of profiled steps, as a file that `bench` reads, and the process groups that were used."""

from __future__ import annotations

import json

import torch
from bench_probe import kineto, torch_private

_KINDS = ("cpu_op", "user_annotation", "kernel")


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
    events = profiler.profiler.kineto_results.events()
    whole = None
    if trace is not None or kineto.needs_trace(events):  # torch writes it only once
        whole = path.with_name(".trace.gz" if trace is None else f".{trace.name}")
        profiler.export_chrome_trace(str(whole))
    calls = kineto.calls_of(events, whole)
    if trace is not None:  # it gets its final name once it is complete
        whole.rename(trace)
    elif whole is not None:
        whole.unlink()
    temporary = path.with_suffix(".tmp")
    annotations = kineto.annotations_of(events)
    with temporary.open("w") as file:
        for event in events:
            line = _line(event, annotations, calls)
            if line is not None:
                file.write(json.dumps(line) + "\n")
    temporary.rename(path)


def _line(event, annotations, calls):
    kind, name = kineto.kind_of(event, annotations), event.name()
    is_message = name.startswith(("gloo:", "c10d::"))
    call = calls.get(event.correlation_id()) if name == kineto.CALL else None
    if kind not in _KINDS and not is_message and call is None:
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
    if call is not None:
        found |= {"call": event.correlation_id(), "meta": call}
    if kind == "kernel":
        found["call"] = event.linked_correlation_id()
    return found


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
        world = torch_private.world
        for group, ranks in world.pg_group_ranks.items():
            name = world.pg_names.get(group, str(len(found)))
            description = getattr(group, "group_desc", "")
            found[name] = (description, sorted(ranks), torch_private.get_sequence_number(group))
    except Exception:  # private names of torch, which another version may lack
        return {}
    return found
