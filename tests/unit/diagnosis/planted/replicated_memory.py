from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in range(4)}}
OOM = {(4, repeat): "oom" for repeat in range(3)}


def fires(results: Path) -> None:
    """Two billion parameters, 32 GB with gradients and AdamW's state, fill nine tenths of 80 GB. Another case runs
    out of memory under DDP and fits under FSDP, with BatchNorm in half precision."""
    make_session(
        results,
        [
            _case("full", memory_bytes=74 * GB, parameters=2 * 10**9),
            _case("too_large", batch=128, statuses=OOM, precision="bf16", couples_examples=True),
            _case("sharded", batch=128, strategy="fsdp", precision="bf16", couples_examples=True),
        ],
        environment=GPU,
    )


def quiet(results: Path) -> None:
    """The same amount is used, but most of it by activations: 100 million parameters are 1.6 GB."""
    cases = [
        _case("full", memory_bytes=74 * GB, parameters=10**8),
        _case("too_large", batch=128, statuses=OOM, parameters=10**8),
    ]
    make_session(results, cases, environment=GPU)


def _case(name: str, parameters: int = 10**8, **values: object) -> Case:
    return Case(
        name=name, step_ms={4: 10.0}, device_type="cuda", outcome={"parameters": parameters}, **values
    )
