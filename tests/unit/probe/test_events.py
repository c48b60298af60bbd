"""Kinds of profiled events in a torch that does not tell them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bench.train.script import PROBE_FOLDER


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

    line = events._line(event(name, device, scope), {"bench.step 7"})
    assert (line and line["kind"]) == kind
    if line:
        assert (line["begin_ns"], line["end_ns"]) == (5_000, 7_000)


def test_a_call_without_its_metadata_has_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROBE_FOLDER))
    from bench_probe import events

    assert "meta" not in events._line(event("record_param_comms", "CPU", 0), set())
