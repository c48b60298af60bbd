"""How long torch.compile compiled in this rank, and whether it still did among measured steps.

torch calls back when the first of nested compilations begins and when the last ends: tracing, code generation, a
backward that is compiled at its first call, the recording of CUDA graphs. Where nothing compiles nothing of ours runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from bench.safe_path import installed_path

if TYPE_CHECKING:
    import torch

    from bench.records.run_spec import TrainSpec


def replays_graphs(train: TrainSpec, device: torch.device) -> bool:
    """Whether torch.compile records CUDA graphs. It takes every forward pass that no backward is pending for as the
    begin of an iteration, which is right for our loop: torch.compiler.cudagraph_mark_step_begin() is not needed, and
    once called would have to be called before every validation batch too."""
    modes = ("reduce-overhead", "max-autotune")
    return device.type == "cuda" and train.compile and train.compile_mode in modes


def keep_the_current_folder_out() -> None:
    """Let torch's compiler import only what is installed in the Pythons that it starts.

    It hands them our `sys.path`, user code's folders first, and one of them, which tests vector instructions, would
    import from the current folder too."""
    from torch._inductor.cpu_vec_isa import VecISA

    os.environ.setdefault("TORCH_CUSTOM_PYTHONPATH", installed_path())
    VecISA._avx_py_load = f"import sys\nsys.path[:] = filter(None, sys.path)\n{VecISA._avx_py_load}"


class Compilations:
    """Counts from its making on; one per process, since torch has one list of callbacks."""

    def __init__(self) -> None:
        from torch._dynamo.callback import callback_handler

        self._count = 0
        self._compile_ns = 0
        self._began_ns = 0
        self._measured = 0
        self._measuring = False
        self._is_over = False
        callback_handler.register_start_callback(self._begin)
        callback_handler.register_end_callback(self._end)

    def measure(self) -> None:
        """The steps that follow are measured."""
        self._measuring = True

    def stop(self) -> None:
        """What compiles from now on is not counted: it is for no step that trains."""
        self._is_over = True

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around what lies between two steps: what compiles in it spoils none."""
        measuring, self._measuring = self._measuring, False
        yield
        self._measuring = measuring

    def said(self) -> dict[str, Any]:
        """`compile_s` and `measured_recompiles`; null where nothing was compiled."""
        compiled = self._count > 0
        return {
            "compile_s": self._compile_ns / 1e9 if compiled else None,
            "measured_recompiles": self._measured if compiled else None,
        }

    def _begin(self, _: Any) -> None:
        if self._is_over:
            return
        self._count += 1
        self._measured += self._measuring
        self._began_ns = perf_counter_ns()

    def _end(self, _: Any) -> None:
        if self._is_over:
            return
        self._compile_ns += perf_counter_ns() - self._began_ns
