from __future__ import annotations

from pathlib import Path

from tests.factory import Case, make_session

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in range(4)}}
STATUSES = {(2, repeat): "oom" for repeat in range(3)}


def fires(results: Path) -> None:
    """Each case needs a different remedy: smaller micro-batches, recomputing, sharding, more ranks, or twice as many
    micro-batches if there are some."""
    cases = [
        _case("batch"),
        _case("half_the_batch", batch=32, statuses={}),
        _case("of_one", batch=2),
        _case("states", outcome={"parameters": 6 * 10**9}),
        _case(
            "one_rank", strategy="single", step_ms={1: 10.0}, statuses={(1, 0): "oom"}, batch=1, **RECOMPUTED
        ),
        _case("accumulating", accumulate=4),
        _case("micro", train={"micro_batch": 8}, accumulate=4),
        _case("sharded", strategy="fsdp", step_ms={2: 10.0, 4: 8.0}),
    ]
    make_session(results, cases, environment=GPU)


def quiet(results: Path) -> None:
    """A run with memory just as full that ended for another reason."""
    failed = {(2, repeat): "failed" for repeat in range(3)}
    make_session(results, [_case("batch", statuses=failed, memory_bytes=79 * GB)], environment=GPU)


RECOMPUTED = {"train": {"checkpointing": True}}


def _case(name: str, **values: object) -> Case:
    given = {"step_ms": {2: 10.0}, "device_type": "cuda", "statuses": STATUSES}
    return Case(name=name, **(given | values))
