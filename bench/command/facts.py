"""Facts that the probes of all ranks give together: the batch, the examples, and whether they train one model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from bench.command.examples import Commands, Counted, counted, is_read_elsewhere
from bench.measure.profile.profiled_step import first_problem
from bench.records.run_outcome import work_of_ranks
from bench.records.run_spec import RunSpec

_LEAST_BYTES = 64
"""Bytes of reductions in a step below which nothing but a loss or a flag is reduced."""
_LEAST_BYTES_PER_ELEMENT = 1e-3
"""The same for each trained parameter: PowerSGD sends at least 2e-3, metrics of a large model less."""

_NOT_KNOWN = "not known"
_NO_BACKWARD = f"{_NOT_KNOWN}: the command does not call backward()"


def with_the_batch(spec: RunSpec, commands: Commands) -> RunSpec:
    """The specification with the batch that was counted, the most frequent one of each rank; with none if it is not
    known, because what the user asked for is not what was trained."""
    batches = counted(spec, commands).batches or [0]
    known = batches if len(batches) == spec.world_size else [0]
    return replace(spec, batch_per_rank=max(known), global_batch=sum(known))


def of_run(spec: RunSpec, commands: Commands) -> dict[str, Any]:
    """Fields of the run's outcome."""
    ranks = list(commands.values())
    in_order = [commands[rank] for rank in sorted(commands, key=int)]
    found = counted(spec, commands)
    examples = found.per_step or []
    tokens = [facts["tokens"] / max(1, facts["measured_steps"]) for facts in in_order]
    digests = [facts["digest"] for facts in ranks]
    known = all(digest is not None for digest in digests)
    return {
        "examples_per_step": sum(examples) or None,
        "tokens_per_example": sum(tokens) / sum(examples) if all(tokens) and examples else None,
        "work_of_ranks": work_of_ranks(examples=examples, tokens=tokens)
        if len(ranks) == spec.world_size
        else None,
        "same_batch": len(set(digests)) == 1
        if known and len(ranks) > 1 and not _pass_messages(ranks)
        else None,
        "ranks_train": _ranks_train(spec, ranks),
        "recorded_by": json.dumps(
            _recorded_by(next((one for one in ranks if one.get("errors")), ranks[0]), found, ranks)
            | _batches(spec, found)
        ),
        "profile_problem": first_problem(ranks),
    }


def _ranks_train(
    spec: RunSpec, ranks: Sequence[Mapping[str, Any]]
) -> Literal["one model", "independent copies"] | None:
    """Whether the ranks combine their gradients, judged by the profiled steps."""
    if spec.world_size == 1 or len(ranks) < spec.world_size:
        return None
    if any(facts["world_size"] in (None, 1) for facts in ranks):
        return "independent copies"
    bytes_sent = [sent for facts in ranks if (sent := facts.get("reduced_bytes")) is not None]
    if len(bytes_sent) < len(ranks) or _pass_messages(ranks):  # the first also if the run was stopped
        return None
    elements = max(facts["trained_elements"] or 0 for facts in ranks)
    if min(bytes_sent) < max(_LEAST_BYTES, _LEAST_BYTES_PER_ELEMENT * elements):
        return "independent copies"
    groups = [group["ranks"] for facts in ranks for used in facts["groups"].values() for group in used]
    if groups and not _are_connected(spec.world_size, groups):
        return "independent copies"
    return "one model"


def _pass_messages(ranks: Iterable[Mapping[str, Any]]) -> bool:
    """Whether ranks exchange messages with single ranks, as the stages of a pipeline do: they share a model without
    reductions, and one batch."""
    return any(facts.get("has_messages") for facts in ranks)


def _are_connected(world_size: int, groups: Iterable[Sequence[int]]) -> bool:
    """Whether the process groups that were used lead from every rank to every other."""
    reached, todo = {0}, [set(group) for group in groups]
    while joining := [group for group in todo if group & reached]:
        reached = reached.union(*joining)
        todo = [group for group in todo if not group <= reached]
    return len(reached) == world_size


def _optimizers(facts: Mapping[str, Any]) -> str:
    """Their classes. One that appears after the warm-up may show that the steps are not what the user means."""
    return ", ".join(
        f"{name} (after the warm-up)" if number in facts["late_optimizers"] else name
        for number, name in enumerate(facts["optimizers"])
    )


def _obtained(phase: str, facts: Mapping[str, Any], seen: str | None) -> str:
    marked = "bench_probe.phase" if phase in facts["named_phases"] else None
    return ", ".join(filter(None, (seen, marked))) or _NOT_KNOWN


def _loader(workers: int | None, starts: int) -> dict[str, str]:
    """Workers of the DataLoader, and how often they started in the measured steps; nothing without a DataLoader."""
    return {} if workers is None else {"loader_workers": str(workers), "loader_starts": str(starts)}


def _errors(of_figures: Mapping[str, str]) -> dict[str, str]:
    """The probe's own errors, which turned figures off: which ones, and the first traceback."""
    if not of_figures:
        return {}
    return {"turned_off": ", ".join(of_figures), "error": next(iter(of_figures.values()))}


def _batches(spec: RunSpec, found: Counted) -> dict[str, str]:
    """How the batches relate to what the user asked for, and to each other."""
    if found.batches is None or found.per_step is None:
        return {}
    told = {}
    if spec.batch_per_rank and spec.workload_options["examples_per_step"] is None:
        told["micro_batches"] = str(found.batches[0] // spec.batch_per_rank)
    return told | ({} if found.per_step == found.batches else {"batches": "of several sizes"})


def _recorded_by(
    facts: Mapping[str, Any], examples: Counted, ranks: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """How each figure was obtained, in a few words."""
    own, seen = facts["has_own_steps"], facts["seen"]
    backward = "backward" in seen
    loss = "sum of the scalars on which backward() is called" if backward else _NO_BACKWARD
    data = _obtained("data", facts, "DataLoader" if "data" in seen else None)
    if data == _NOT_KNOWN and is_read_elsewhere(ranks):
        data = f"{_NOT_KNOWN}: another thread reads the DataLoader"
    return {
        "step": "bench_probe.step" if own else f"step() of {facts['closing']}",
        "optimizers": _optimizers(facts),
        "loss": "given to bench_probe.step" if facts["has_own_loss"] else loss,
        "data": data,
        "forward": _obtained(
            "forward", facts, f"calls of {', '.join(facts['models'])}" if "forward" in seen else None
        ),
        "backward": _obtained("backward", facts, "torch.autograd.backward" if backward else None),
        **_loader(**facts["loader"]),
        "examples": examples.counted_by,
        **({} if examples.conflict is None else {"conflict": examples.conflict}),
        **({"tokens": "all elements, padding included"} if facts["tokens"] else {}),
        "skipped_steps": str(facts["skipped_steps"]),
        **_errors(facts.get("errors", {})),
        "torch": facts["torch"],
    }
