"""Floating-point operations of forward and backward, counted on shapes in a process forked for it.

The count is that of the model's mathematics in eager mode. It ignores operations that a compiler fuses away, and those
that checkpointing or a flash kernel computes twice. torch's counter knows matrix products, convolutions and attention
(a causal mask changes nothing). Everything else, such as the optimizer, is not counted, as is usual for MFU: PaLM
(Chowdhery et al. 2022, arXiv:2204.02311), appendix B.
"""

from __future__ import annotations

import json
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench import workloads
from bench.common.custom_file import place_of
from bench.common.error_text import describe
from bench.common.torch_private import DataDependentOutputException, DynamicOutputShapeException
from bench.train import counts, meta_device
from bench.workloads import Workload

LONGEST_S = 60
"""Time limit for counting, once the data are read; then SIGALRM ends the process."""
NOTHING_COUNTED = "it has none of the operations that are counted: matrix products, convolutions, attention"
_FEW = 2
"""Examples; BatchNorm needs more than one."""


def main(answer: Connection, question: str) -> None:
    """Entry of the forked process. Sends the result of `count`; or `note`: why there is none; or nothing, if the
    workload trains nothing."""
    job = json.loads(question)
    nowhere = os.open(os.devnull, os.O_WRONLY)  # a model's output appears in its run, too
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        workload = workloads.prepared(job)
        signal.alarm(LONGEST_S)
        if workload is None:
            result = {}
        elif counts.own_methods(workload):
            result = {"note": "its batches differ in size, so one batch does not stand for the others"}
        else:
            result = count(workload, job["micro_batch"])
    except (Exception, SystemExit) as error:  # a custom workload may raise anything
        result = {"note": failure_note(error)}
    answer.send_bytes(json.dumps(result).encode())


def count(workload: Workload, micro_batch: int) -> dict[str, Any]:
    """FLOPs of a prepared workload: `per_example` if they are proportional to the examples, else `per_micro_batch` of
    `micro_batch` examples. Raises the errors that its methods raise.

    They are not proportional under a contrastive loss, for example, which compares each example with every other one of
    its batch."""
    few, twice = of_batches(workload, _FEW, 2 * _FEW)
    if not twice:
        return {"note": NOTHING_COUNTED}
    if twice == 2 * few:
        return {"per_example": few / _FEW}
    return {"per_micro_batch": of_batches(workload, micro_batch)[0]}


def of_batches(workload: Workload, *sizes: int) -> list[int]:
    """FLOPs of forward and backward of a micro-batch of each size; a multiplication and an addition count as two.

    Attention is counted as matrix products, because flash kernels compute the scores a second time in backward, which
    is not part of the model. oneDNN is off, so that an LSTM is a sequence of products, too."""
    (onednn, *_) = torch.backends.mkldnn.set_flags(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            try:
                return _counted(workload, sizes, "meta")
            except RuntimeError:  # for example, a model that checks whether its device has autocast
                return _counted(workload, sizes, "cpu")
    finally:
        torch.backends.mkldnn.set_flags(onednn)


def _counted(workload: Workload, sizes: tuple[int, ...], device: str) -> list[int]:
    found = []
    with meta_device.shapes(device) as shapes:
        model = shapes.model(workload)
        for examples in sizes:
            batch = shapes.batch(workload, examples)
            with FlopCounterMode(display=False) as counter:
                workload.loss(model, batch).backward()
            found.append(counter.get_total_flops())
    return found


def failure_note(error: BaseException) -> str:
    """Why a model could not run on shapes, in one line."""
    if isinstance(error, DataDependentOutputException | DynamicOutputShapeException):
        reason = (
            "it needs values, as for item(), an if on a tensor or a boolean mask, but here are only shapes"
        )
    else:
        reason = describe(error)
    place = place_of(error)
    return f"{reason} ({place})" if place else reason
