"""The examples of a step of a command: which of the probe's counts holds, and whether the counts agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bench.records.run_spec import RunSpec

Commands = Mapping[str, Mapping[str, Any]]
"""By rank, the key `command` of the probe's outcome (bench/probe/bench_probe/record.py)."""

_SAID, _LOADER, _MODEL, _COMPILED = "said", "loader", "model", "compiled"


class Counted(NamedTuple):
    """The examples of a step. Lists have a number for each rank, in order; null: unknown."""

    per_step: list[float] | None
    """Mean over the measured steps."""
    batches: list[int] | None
    """The most frequent number."""
    counted_by: str
    """How they were counted, in a few words."""
    conflict: str | None = None
    """The numbers that disagree."""


def counted(spec: RunSpec, commands: Commands) -> Counted:
    """The count that holds. A number that the user gives comes before the loader's count, and that before the model's.
    Numbers that disagree are no count."""
    ranks = [commands[rank] for rank in sorted(commands, key=int)]
    given = spec.workload_options["examples_per_step"]
    if given is not None:
        return Counted([given] * len(ranks), [given] * len(ranks), "given by --examples-per-step")
    if any({"examples", "data"} & facts.get("errors", {}).keys() for facts in ranks):
        return _unknown("the recorder made an error")
    origins = [_origin(facts) for facts in ranks]
    if _is_dispatched(origins, ranks):
        origins = [_MODEL] * len(ranks)
    if None in origins:
        return _unknown(
            "" if not any(origins) else f"rank {origins.index(None)} has no count", is_read_elsewhere(ranks)
        )
    batches = [facts["examples"][origin]["batch"] for facts, origin in zip(ranks, origins, strict=True)]
    how = [_words(facts, origin) for facts, origin in zip(ranks, origins, strict=True)]
    conflict = _conflict(spec, batches, how) or _of_model(ranks, origins)
    if conflict is not None:
        return Counted(None, None, "not known, because counts disagree", conflict)
    per_step = [
        facts["examples"][origin]["total"] / max(1, facts["measured_steps"])
        for facts, origin in zip(ranks, origins, strict=True)
    ]
    return Counted(per_step, batches, how[0])


def is_read_elsewhere(ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether another thread than the one that trains reads the DataLoader."""
    return any(facts["is_loaded_elsewhere"] and "data" not in facts["seen"] for facts in ranks)


def _unknown(reason: str, is_elsewhere: bool = False) -> Counted:
    reason = reason or "another thread reads the DataLoader" * is_elsewhere
    return Counted(None, None, ", because ".join(filter(None, ("not known", reason))))


def _origin(facts: Mapping[str, Any]) -> str | None:
    return next(
        (origin for origin in (_SAID, _LOADER, _MODEL, _COMPILED) if _batch(facts, origin) is not None), None
    )


def _batch(facts: Mapping[str, Any], origin: str) -> int | None:
    found: int | None = facts["examples"].get(origin, {}).get("batch")
    return found


def _is_dispatched(origins: Sequence[str | None], ranks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rank 0 reads the batches of all ranks and sends each its own, as accelerate does for a stream."""
    first, *others = ranks
    read, trained = _batch(first, _LOADER), _batch(first, _MODEL)
    return (
        len(others) > 0
        and origins[0] == _LOADER
        and trained is not None
        and read == trained * len(ranks)
        and all(origin == _MODEL for origin in origins[1:])
    )


def _conflict(spec: RunSpec, batches: Sequence[int], how: Sequence[str]) -> str | None:
    """The counts that disagree: with the batch that the user gave, by whole micro-batches, or between ranks whose
    examples were counted in different ways."""
    asked = spec.batch_per_rank
    wrong = next((rank for rank, batch in enumerate(batches) if asked and batch % asked), None)
    if asked and wrong is not None:
        return (
            f"rank {wrong} trains {batches[wrong]:,} examples per step, {how[wrong]}, and the command was told to take "
            f"{asked:,} per rank"
        )
    other = next(
        (rank for rank, words in enumerate(how) if words != how[0] and batches[rank] != batches[0]), None
    )
    if other is None:
        return None
    return (
        f"rank 0 trains {batches[0]:,} examples per step, {how[0]}; rank {other} trains {batches[other]:,}, "
        f"{how[other]}"
    )


def _of_model(ranks: Sequence[Mapping[str, Any]], origins: Sequence[str | None]) -> str | None:
    """The counts of a loader and of a model that sees one of several batches: the others are not trained on. A batch
    without padding is one row, which says nothing."""
    for rank, (facts, origin) in enumerate(zip(ranks, origins, strict=True)):
        read, trained = _batch(facts, _LOADER), _batch(facts, _MODEL)
        if origin == _LOADER and read and trained and 1 < trained < read and read % trained == 0:
            return (
                f"on rank {rank} the loader gives {read:,} examples per step, {_words(facts, _LOADER)}, and the model "
                f"gets {trained:,}, {_words(facts, _MODEL)}"
            )
    return None


def _words(facts: Mapping[str, Any], origin: str | None) -> str:
    models = ", ".join(facts["models"]) or "the model"
    return {
        _SAID: "given to bench_probe.step",
        _LOADER: "by the loader's indices"
        if facts["loader_counts"] == ["indices"]
        else "by the shape of the loader's batches",
        _MODEL: f"by the first dimension of the first tensor given to {models}",
        _COMPILED: "by the first dimension of the first tensor given to the compiled function",
    }[origin or _MODEL]
