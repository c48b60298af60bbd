from __future__ import annotations

from pathlib import Path

from bench.records.run_spec import RunSpec
from bench.records.vocabulary import DeviceType
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile


def fires(results: Path) -> None:
    """On two ranks a step of 10 ms computes for 5 ms and waits 4 ms for gradients. One model has 6 FLOPs per token
    and parameter, one is mostly an embedding, and one runs on GPUs, whose gradients may be compressed."""
    whole = _case("whole", flops_per_example=6 * 2_804 * 32)
    embedding = _case("embedding", flops_per_example=2_804 * 32)
    gpus = _case("gpus", device_type="cuda")
    _session(results, [whole, embedding, gpus], (100, 40, 40, 50))


def quiet(results: Path) -> None:
    """The wait still costs more than a quarter, but a rank computes for more than twice as long."""
    _session(results, [_case("whole")], (100, 29, 29, 60))


def _case(name: str, *, flops_per_example: float | None = None, device_type: DeviceType = "cpu") -> Case:
    return Case(
        name=name,
        step_ms={1: [14.9, 15.0, 15.1], 2: [9.9, 10.0, 10.1]},
        strategy_options={"gradient_compression": "none"},
        tokens_per_example=32,
        flops_per_example=flops_per_example,
        device_type=device_type,
    )


def _session(results: Path, cases: list[Case], on_two: Figures) -> None:
    def figures(spec: RunSpec, _rank: int) -> Figures:
        return on_two if spec.world_size > 1 else (100, 0, 0, 90)

    add_profile(make_session(results, cases), figures, {})
