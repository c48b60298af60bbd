"""Floating-point operations of forward and backward, counted on shapes in a process forked for it.

What is counted is the model as its mathematics has it, eager: not what a compiler fuses away, not what checkpointing or
a flash kernel computes twice. torch's counter knows matrix products, convolutions and attention (a causal mask
changes nothing); all else, the optimizer included, is left out, as is usual for MFU: PaLM (Chowdhery et al. 2022,
arXiv:2204.02311), appendix B.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bench import workloads
from bench.train import on_meta
from bench.train.blame import place_of
from bench.train.describe import describe
from bench.workloads import Workload

LONGEST_S = 60
"""For counting, after the data are read: SIGALRM ends it then."""
_FEW = 2
"""Examples: BatchNorm has no statistics of one."""


def main(answer: Connection, question: str) -> None:
    """Entry of the forked process. `per_example` where FLOPs are proportional to examples, else `per_micro_batch`; or
    `note`, why there are none; or nothing, of a workload that trains nothing."""
    job = json.loads(question)
    _silence()
    try:
        workload = workloads.prepared(job)
        signal.alarm(LONGEST_S)
        said = {} if workload is None else count(workload, job["micro_batch"])
    except (Exception, SystemExit) as error:  # an own workload may raise anything; a run never fails for it
        said = {"note": why_not(error, job["workload"])}
    answer.send_bytes(json.dumps(said).encode())


def count(workload: Workload, micro_batch: int) -> dict[str, Any]:
    """Of a prepared workload: `per_example`, or `per_micro_batch` of so many examples. Raises what its methods raise.

    An example takes part in a product with every other one of its batch under a contrastive loss, for one: then twice
    the examples have not twice the FLOPs."""
    few, twice = of_batches(workload, _FEW, 2 * _FEW)
    if not twice:
        return {
            "note": "it has none of the operations that are counted: matrix products, convolutions, attention"
        }
    if twice == 2 * few:
        return {"per_example": few / _FEW}
    return {"per_micro_batch": of_batches(workload, micro_batch)[0]}


def of_batches(workload: Workload, *sizes: int) -> list[int]:
    """FLOPs of forward and backward of a micro-batch of each size; a multiplication and an addition are two.

    Attention is counted as products of matrices: its flash kernels compute the scores a second time in backward, which
    is a way of computing and not part of the model. Without oneDNN an LSTM is a sequence of products, too."""
    with sdpa_kernel(SDPBackend.MATH), _without_onednn():
        try:
            return _counted(workload, sizes, "meta")
        except RuntimeError:  # a model that asks whether there is autocast for its device, for one
            return _counted(workload, sizes, "cpu")


@contextmanager
def _without_onednn() -> Iterator[None]:
    (before, *_) = torch.backends.mkldnn.set_flags(False)
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before)


def _counted(workload: Workload, sizes: tuple[int, ...], device: str) -> list[int]:
    found = []
    with on_meta.shapes(device) as shapes:
        model = shapes.model(workload)
        for examples in sizes:
            batch = shapes.batch(workload, examples)
            with FlopCounterMode(display=False) as counter:
                workload.loss(model, batch).backward()
            found.append(counter.get_total_flops())
    return found


def why_not(error: BaseException, name: str) -> str:
    """In one line; `name` is the workload's."""
    if isinstance(error, DataDependentOutputException):
        reason = "it looks at values, as by item() or an if on a tensor, where only shapes are"
    else:
        reason = describe(error)
    return reason + place_of(error, name)


def _silence() -> None:
    """What a model prints, it prints in its run, too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
