"""Traces as torch.profiler writes them, of a GPU behind its host, with times that can be worked out by hand."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMPUTE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, float)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


@dataclass(kw_only=True)
class GpuTrace:
    """The events of one rank. All times in µs."""

    rank: int | None = 0
    world_size: int | None = 1
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further members of the trace."""
    events: list[dict[str, Any]] = field(default_factory=list)
    _next: int = 1

    def step(self, number: int, begin: float, end: float) -> None:
        """A step of the host."""
        self._add("user_annotation", f"ProfilerStep#{number}", begin, end, tid=1)

    def kernel(
        self,
        begin: float,
        end: float,
        *,
        launch: float | None,
        name: str = COMPUTE,
        stream: int = 7,
        **said: Any,
    ) -> None:
        """A kernel, and the call on the host that started it, if it is known."""
        correlation, self._next = self._next, self._next + 1
        if launch is not None:
            of_call = {"correlation": correlation, "External id": correlation}
            self._add("cuda_runtime", "cudaLaunchKernel", launch, launch + 1, tid=1, args=of_call)
        args = {"stream": stream, "correlation": correlation, "External id": correlation, "device": 0, **said}
        self._add("kernel", name, begin, end, tid=stream, args=args)

    def all_reduce(self, begin: float, end: float, *, launch: float | None, elements: int = 1_000) -> None:
        """A collective of all ranks, on a stream of its own."""
        said = {
            "Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float",
            "Group size": self.world_size, "Process Group Name": "0", "Process Group Description": "default_pg",
        }  # fmt: skip
        self.kernel(begin, end, launch=launch, name=ALL_REDUCE, stream=20, **said)

    def copy(self, begin: float, end: float, *, launch: float) -> None:
        """A copy from the host."""
        correlation, self._next = self._next, self._next + 1
        self._add(
            "cuda_runtime", "cudaMemcpyAsync", launch, launch + 1, tid=1, args={"correlation": correlation}
        )
        args = {"stream": 7, "correlation": correlation}
        self._add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", begin, end, tid=7, args=args)

    def _add(
        self,
        category: str,
        name: str,
        begin: float,
        end: float,
        *,
        tid: int,
        args: Mapping[str, Any] | None = None,
    ) -> None:
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": begin, "dur": end - begin,
             "args": dict(args or {})}
        )  # fmt: skip

    def object(self) -> dict[str, Any]:
        told = {"backend": "nccl", "rank": self.rank, "world_size": self.world_size, "nccl_version": "2.27.3"}
        known = {key: value for key, value in told.items() if value is not None}
        return {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
            **({"distributedInfo": known} if self.rank is not None else {}),
            **self.about,
            "traceEvents": [
                {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
                *self.events,
            ],
            "traceName": "trace.json",
            "displayTimeUnit": "ms",
        }

    def write(self, path: Path) -> Path:
        """Compressed if the name says so."""
        text = json.dumps(self.object(), indent=1).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def write_all(folder: Path, traces: Iterable[GpuTrace]) -> list[str]:
    """A file for each rank; their paths."""
    return [str(each.write(folder / f"rank-{each.rank}.json.gz")) for each in traces]


def two_steps(
    *, rank: int = 0, world_size: int = 2, late: float = 0.0, clock: float = 1_000_000.0
) -> GpuTrace:
    """Two steps of 1,000 µs. In each the rank computes 400 µs and `late` more. Then comes an all-reduce: its transfer
    takes 200 µs, before which the rank waits until all others are as late, up to 100 µs; the first 100 µs of the
    all-reduce lie behind 100 µs of further computation. Last come 100 µs of computation, and 200 µs of nothing."""
    trace = GpuTrace(rank=rank, world_size=world_size)
    for number in (0, 1):
        begin = clock + 1_000 * number
        trace.step(10 + number, begin, begin + 1_000)
        trace.kernel(begin + 0, begin + 400 + late, launch=begin)
        trace.all_reduce(begin + 400 + late, begin + 700, launch=begin + 10)
        trace.kernel(begin + 400 + late, begin + 500 + late, launch=begin + 20)
        trace.kernel(begin + 700, begin + 800, launch=begin + 30)
    return trace


def random_trace(seed: int, *, steps: int = 4, kernels: int = 60) -> GpuTrace:
    """Kernels of three streams, at random in whole µs. The device is always behind the host, and done with a step when
    the next one begins there."""
    draw = random.Random(seed)
    trace = GpuTrace(rank=0, world_size=8)
    begin = 5_000_000
    for number in range(steps):
        trace.step(100 + number, begin, begin + 10_000)
        at = {7: begin + 50, 13: begin + 50, 20: begin + 50}
        for index in range(kernels):
            stream = draw.choice([7, 7, 7, 13, 20])
            at[stream] += draw.randint(0, 120)
            end = at[stream] + draw.randint(1, 260)
            if end > begin + 9_900:
                continue
            launch = begin + index % 40
            if stream == 20:
                trace.all_reduce(at[stream], end, launch=launch, elements=draw.randint(2, 10**6))
            elif draw.random() < 0.1:
                trace.copy(at[stream], end, launch=launch)
            else:
                trace.kernel(at[stream], end, launch=launch, stream=stream)
            at[stream] = end
        begin += 10_000
    return trace


def main() -> None:
    """Write the random traces, for other programs: `python -m tests.kineto_traces FOLDER`."""
    import sys

    for seed in range(6):
        random_trace(seed).write(Path(sys.argv[1]) / f"random-{seed}.json.gz")


if __name__ == "__main__":
    main()
