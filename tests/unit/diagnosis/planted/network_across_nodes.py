from __future__ import annotations

from pathlib import Path

from bench.records.run_spec import RunSpec
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile


def fires(results: Path) -> None:
    """Two ranks on two nodes are a fifth slower than on one; four on two nodes wait for three times as long as two on
    one; and so with sharded parameters, over NCCL without InfiniBand."""
    compressible = {"gradient_compression": "none"}
    cases = [
        *_as_many("as_many", 75.0),
        Case(name="more", step_ms=_TIMES, ranks_per_node=2, strategy_options=compressible),
        Case(
            name="sharded",
            step_ms=_TIMES,
            ranks_per_node=2,
            strategy="fsdp",
            strategy_options={"shard_size": None},
        ),
    ]
    _session(results, cases, across=30, environment={"0": {"transport_2x2": "NCCL 2.27.3; network Socket"}})


def quiet(results: Path) -> None:
    """Two ranks on two nodes are a twentieth slower; four on two nodes wait for half as long again."""
    _session(
        results, [*_as_many("as_many", 63.0), Case(name="more", step_ms=_TIMES, ranks_per_node=2)], across=15
    )


_TIMES = {1: [99.0, 100.0, 101.0], 2: [59.0, 60.0, 61.0], 4: [49.0, 50.0, 51.0]}


def _as_many(name: str, across_ms: float) -> list[Case]:
    """The same case on one node and, with as many ranks, on two."""
    on_two = Case(name=name, step_ms={2: [across_ms - 1, across_ms, across_ms + 1]}, ranks_per_node=1)
    return [Case(name=name, step_ms={ranks: _TIMES[ranks] for ranks in (1, 2)}), on_two]


def _session(results: Path, cases: list[Case], *, across: int, **session: object) -> None:
    def figures(spec: RunSpec, _rank: int) -> Figures:
        exposed = 0 if spec.world_size == 1 else across if spec.nodes > 1 else 10
        return (100, exposed, exposed, 90 - exposed)

    add_profile(make_session(results, cases, **session), figures, {})  # type: ignore[arg-type]
