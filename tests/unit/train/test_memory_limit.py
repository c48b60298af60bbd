"""A rank's memory limit on a CPU: refused by the kernel, in a process of its own."""

from __future__ import annotations

import errno
import json
import subprocess
import sys

import pytest

from bench.train.memory_limit import is_out_of_memory

PROGRAM = """
import json, resource, torch
from bench.measure.clock_cpu import peak_private_bytes
from bench.train import memory_limit
from bench.train.memory_limit import MemoryLimit

MIB = 2**20
limit = MemoryLimit(256 * MIB, torch.device("cpu"))
held = []

def batches():
    for number in range(4):
        yield number

def fits(mib):
    try:
        held.append(torch.ones(mib * MIB // 4))
    except RuntimeError:
        return False
    return True

found = {"taken": [], "in_the_first_step": fits(300)}
held.clear()
for batch in limit.tightened(batches(), first=2):
    found["taken"].append(batch)
    if batch == 2:
        found["within"] = fits(200)
        found["beyond"] = fits(100)
found["again"] = (held.clear(), fits(200))[1]
found["more_than_before"] = peak_private_bytes() - limit.before_bytes
memory_limit.lift()
found["lifted"] = fits(400)
print(json.dumps(found))
"""


def test_a_limit_is_wide_in_the_first_step_and_strict_from_the_second() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("more_than_before") > 250 * 2**20  # the peak of 300, though it was given back
    assert found == {
        "taken": [0, 1, 2, 3],
        "in_the_first_step": True,
        "within": True,
        "beyond": False,
        "again": True,
        "lifted": True,
    }


@pytest.mark.parametrize(
    ("error", "limited", "expected"),
    [
        (MemoryError(), False, True),
        (OSError(errno.ENOMEM, "no pages"), False, True),
        (OSError(errno.ENOENT, "no file"), True, False),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), False, True),
        (ValueError("DefaultCPUAllocator"), False, False),
        (RuntimeError("Triton Error [CUDA]: out of memory"), False, True),
        (RuntimeError("NCCL error: unhandled cuda error\nCuda failure 2 'out of memory'"), False, True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False, False),
        (RuntimeError("could not create a primitive"), True, True),
        (RuntimeError("could not create a primitive"), False, False),
    ],
)
def test_want_of_memory_is_known_by_kind_or_words(error: Exception, limited: bool, expected: bool) -> None:
    assert is_out_of_memory(error, limited=limited) is expected


@pytest.mark.parametrize(
    "message",
    [
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "GET was unable to find an engine to execute this computation",
    ],
)
def test_libraries_without_words_for_it_want_memory_only_on_a_gpu_that_is_nearly_full(message: str) -> None:
    error = RuntimeError(message)
    assert is_out_of_memory(error, limited=False, used_share=0.95)
    assert not is_out_of_memory(error, limited=False, used_share=0.5)


HOLDS_TOO_MUCH = """
import torch
from bench.train.memory_limit import MemoryLimit

limit = MemoryLimit(64 * 2**20, torch.device("cpu"))
for batch in limit.tightened(iter(range(2)), first=1):
    held = torch.ones(100 * 2**20 // 4)
    print(batch)
"""


def test_a_rank_that_holds_more_than_its_limit_after_the_first_step_is_out_of_memory() -> None:
    done = subprocess.run([sys.executable, "-c", HOLDS_TOO_MUCH], capture_output=True, text=True, check=False)
    assert done.stdout == "0\n"
    said = done.stderr.splitlines()[-1]
    assert said.startswith("MemoryError: 10")
    assert said.endswith(" MiB are in use after the first step, measure.memory_limit_bytes is 64.00 MiB")
