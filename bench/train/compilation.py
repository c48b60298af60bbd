"""Time that torch.compile took in this rank, and the number of compilations during measured steps.

torch calls back when the outermost compilation begins and ends. That covers tracing, code generation, a backward that
is compiled at its first call, and the recording of CUDA graphs. Without compilations no code here runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from bench.common import torch_private
from bench.common.safe_path import installed_path

if TYPE_CHECKING:
    import torch

    from bench.records.run_spec import TrainSpec


def replays_graphs(train: TrainSpec, device: torch.device) -> bool:
    """Whether torch.compile records CUDA graphs.

    torch then starts an iteration at every forward pass without a pending backward, which suits our loop:
    torch.compiler.cudagraph_mark_step_begin() is not needed; once called, every validation batch would need it too."""
    modes = ("reduce-overhead", "max-autotune")
    return device.type == "cuda" and train.compile and train.compile_mode in modes


def exclude_current_folder() -> None:
    """Let the Pythons that torch's compiler starts import only installed packages.

    torch gives them our `sys.path`, which begins with folders of user code; the process that tests vector instructions
    would also import from the current folder."""
    os.environ.setdefault("TORCH_CUSTOM_PYTHONPATH", installed_path())
    tried = f"import sys\nsys.path[:] = filter(None, sys.path)\n{torch_private.avx_py_load}"
    torch_private.replace("avx_py_load", tried)


class Compilations:
    """Counts compilations from its creation on. Make one per process: torch has one list of callbacks."""

    def __init__(self) -> None:
        self._count = 0
        self._compile_ns = 0
        self._began_ns = 0
        self._measured = 0
        self._measuring = False
        self._is_over = False
        callbacks = torch_private.callback_handler
        callbacks.register_start_callback(self._begin)
        callbacks.register_end_callback(self._end)

    def measure(self) -> None:
        """Call it before the first measured step."""
        self._measuring = True

    def stop(self) -> None:
        """Stop counting: the steps that follow do not train."""
        self._is_over = True

    @contextmanager
    def outside_steps(self) -> Iterator[None]:
        """Inside, compilations do not count as recompilations of a measured step."""
        measuring, self._measuring = self._measuring, False
        yield
        self._measuring = measuring

    def outcome(self) -> dict[str, Any]:
        """`compile_s` and `measured_recompiles`; null if nothing was compiled."""
        compiled = self._count > 0
        return {
            "compile_s": self._compile_ns / 1e9 if compiled else None,
            "measured_recompiles": self._measured if compiled else None,
        }

    def _begin(self, *_: Any) -> None:  # torch 2.6 calls both without an argument
        if self._is_over:
            return
        self._count += 1
        self._measured += self._measuring
        self._began_ns = perf_counter_ns()

    def _end(self, *_: Any) -> None:
        if self._is_over:
            return
        self._compile_ns += perf_counter_ns() - self._began_ns
