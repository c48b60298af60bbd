"""Kinds of profiled events in a torch that does not tell them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench.command.rank import PROBE_FOLDER
from bench.measure.profile.collective_names import NcclKernel, of_nccl


def event(name: str, device: str, scope: int) -> Any:
    """An event of torch 2.0."""
    found = {
        "name": name, "device_type": getattr(torch.autograd.DeviceType, device), "scope": scope, "start_us": 5,
        "duration_us": 2, "start_thread_id": 1, "linked_correlation_id": 9, "correlation_id": 9, "shapes": [[3]],
        "dtypes": ["float"],
    }  # fmt: skip
    return SimpleNamespace(**{key: lambda value=value: value for key, value in found.items()})


@pytest.mark.parametrize(
    ("name", "device", "scope", "kind"),
    [
        ("aten::mm", "CPU", 0, "cpu_op"),
        ("bench.step 7", "CPU", 7, "user_annotation"),
        ("bench.step 7", "CUDA", 0, None),
        ("ampere_sgemm_32x128_tn", "CUDA", 0, "kernel"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "CUDA", 0, "kernel"),
        ("Memcpy HtoD (Pinned -> Device)", "CUDA", 0, None),
        ("cudaLaunchKernel", "CPU", 0, None),
    ],
)
def test_the_kind_is_found_without_the_help_of_torch(
    monkeypatch: pytest.MonkeyPatch, name: str, device: str, scope: int, kind: str | None
) -> None:
    monkeypatch.syspath_prepend(str(PROBE_FOLDER))
    from bench_probe import events

    line = events._line(event(name, device, scope), {"bench.step 7"}, {})
    assert (line and line["kind"]) == kind
    if line:
        assert (line["begin_ns"], line["end_ns"]) == (5_000, 7_000)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_torch_that_does_not_describe_collectives_does_so_in_a_trace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compressed: bool
) -> None:
    monkeypatch.syspath_prepend(str(PROBE_FOLDER))
    from bench_probe import events, kineto

    call = event("record_param_comms", "CPU", 0)
    args = {
        "External id": 9, "Collective name": "allreduce", "In msg nelems": 6, "Out msg nelems": 6, "dtype": "Float",
        "Process Group Name": "0",
    }  # fmt: skip
    text = json.dumps(
        {"traceEvents": [{"name": "record_param_comms", "args": args}, {"name": "aten::mm"}]}
    ).encode()
    trace = tmp_path / ("trace.json.gz" if compressed else "trace.json")
    trace.write_bytes(gzip.compress(text) if compressed else text)
    assert kineto.needs_trace([call])
    calls = kineto.calls_of([call], trace)
    kernel = NcclKernel(name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin_ns=0, end_ns=1, call_id=9)
    (found,) = of_nccl([kernel], calls)
    assert (found.op, found.message_bytes, found.group) == ("all_reduce", 24, "0")
    assert events._line(call, set(), calls)["call"] == 9


def test_a_call_without_its_metadata_has_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROBE_FOLDER))
    from bench_probe import events, kineto

    call = event("record_param_comms", "CPU", 0)
    assert "meta" not in events._line(call, set(), kineto.calls_of([call], None))
    kernel = NcclKernel(name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin_ns=0, end_ns=1, call_id=9)
    (found,) = of_nccl([kernel], {})
    assert (found.op, found.message_bytes, found.group) == ("all_reduce", None, None)


def test_a_trace_has_the_ids_that_events_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(PROBE_FOLDER))
    from bench_probe import events

    profiler = events.start(torch.device("cpu"))
    torch.ones(9, 9) @ torch.ones(9, 9)
    profiler.stop()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    traced = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ids = {each["args"]["External id"] for each in traced if each["name"] == "aten::mm"}
    recorded = profiler.profiler.kineto_results.events()
    assert ids == {each.correlation_id() for each in recorded if each.name() == "aten::mm"} != set()
