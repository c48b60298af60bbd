"""Predictions as text: one table per case, sentences on whether it fits and on speedups, and perhaps the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import groupby

from bench.common.byte_sizes import size_text, three_digits, unit_for
from bench.common.custom_file import label
from bench.common.terminal import aligned
from bench.predict.predict import Prediction
from bench.shadow.records import PeakMemory

_KINDS = tuple(one.name for one in fields(PeakMemory))


def lines(predictions: Sequence[Prediction], *, messages: bool = False) -> list[str]:
    """A table and a sentence for each case, in the order given. `messages`: with a table of messages for each size."""
    found: list[str] = []
    for _, one_case in groupby(predictions, key=lambda one: one.spec.case_name):
        sizes = list(one_case)
        spec = sizes[0].spec
        head = f"{spec.case_name}: {label(spec.strategy)} on {spec.device_type}"
        if not spec.runs_a_command:  # a command alone knows its precision
            head += f", {spec.train.precision}"
        if sizes[0].parameters is not None:
            head += f", {sizes[0].parameters:,} parameters"
        known = [one for one in sizes if one.memory is not None]
        found += [head, *(_table(known) if known else []), *_problems(sizes)]
        found += dict.fromkeys(f"assumed: {note}" for one in sizes for note in one.notes)
        if known:
            found.append(_fitting(known))
        found += _speedups(sizes)
        found += [line for one in known for line in _messages(one)] if messages else []
        found.append("")
    return found[:-1]


def _table(sizes: list[Prediction]) -> list[str]:
    name, unit = unit_for(max(one.memory.total for one in sizes if one.memory))
    threads = [str(one.spec.threads) for one in sizes]
    columns = [
        ("ranks", [one.spec.world_text for one in sizes]),
        ("threads", threads if len(set(threads)) > 1 else []),
        ("batch/rank", [str(one.spec.batch_per_rank or "") for one in sizes]),
        *(
            (kind, cells)
            for kind in _KINDS
            if any(getattr(one.memory, kind) for one in sizes)
            for cells in [[three_digits(getattr(one.memory, kind) / unit) for one in sizes]]
        ),
        ("total", [three_digits(one.memory.total / unit) for one in sizes if one.memory]),
        ("fits", [{None: "", True: "yes", False: "no"}[one.fits] for one in sizes]),
        ("network", [_ms(one.time.communication_s) if one.time and one.messages else "" for one in sizes]),
        ("step", [_bound("at most", one, _ms(one.time.step_s)) if one.time else "" for one in sizes]),
        (
            "computing",
            [_bound("at least", one, _percent(one.time.computing)) if one.time else "" for one in sizes],
        ),
    ]
    filled = [(head, cells) for head, cells in columns if any(cells)]
    rows = [[head for head, _ in filled], *zip(*(cells for _, cells in filled), strict=True)]
    has_times = any(head in ("network", "step") for head, _ in filled)
    return [
        f"memory per rank in {name}" + (", times in ms" if has_times else ""),
        *aligned(rows),
    ]


def _problems(sizes: list[Prediction]) -> list[str]:
    """Sizes with the same problem share a line."""
    found: dict[str, list[str]] = {}
    for one in sizes:
        if one.problem is not None:
            text = one.problem if one.memory is not None else f"no prediction: {one.problem}"
            found.setdefault(text, []).append(one.spec.world_text)
    return [f"{', '.join(ranks)} rank{'s' * (ranks != ['1'])}: {text}" for text, ranks in found.items()]


def _fitting(sizes: list[Prediction]) -> str:
    """A sentence on the first size that does not fit; if all fit, on the last."""
    one = next((size for size in sizes if size.fits is False), sizes[-1])
    assert one.memory is not None
    if one.memory_bytes is None:
        return f"{_of_ranks(one)}: {size_text(one.memory.total)} per rank"
    text = f"{_of_ranks(one)}: {size_text(one.memory.total)} of {size_text(one.memory_bytes)}: "
    if one.fits:
        return text + f"fits, {size_text(one.memory_bytes - one.memory.total)} left"
    text += f"does not fit, by {size_text(one.memory.total - one.memory_bytes)}"
    if one.fsdp_bytes is not None and one.fsdp_bytes < one.memory.total:
        text += f"; fsdp would take {size_text(one.fsdp_bytes)}"
    return text


def _speedups(sizes: list[Prediction]) -> list[str]:
    """Throughput of each size over that of the fewest ranks whose step is known."""
    timed = sorted((one for one in sizes if one.throughput is not None), key=lambda one: one.spec.world_size)
    # an upper bound of the first step bounds no speedup, and other threads are not a matter of ranks
    if len(timed) < 2 or timed[0].step_is_upper_bound or len({one.spec.threads for one in timed}) > 1:
        return []
    first, *others = timed
    assert first.throughput is not None
    said, cautions = [], []
    for one in others:
        assert one.throughput is not None
        speedup = one.throughput / first.throughput
        efficiency = speedup * first.spec.world_size / one.spec.world_size
        known = f"{three_digits(speedup)} on {one.spec.world_text} (efficiency {100 * efficiency:.0f} %)"
        said.append(_bound("at least", one, known))
        if round(100 * efficiency) > 100:
            cautions.append(f"above 100 % on {one.spec.world_text} because {_why_superlinear(first, one)}")
    cautions += dict.fromkeys(doubt for one in timed for doubt in one.doubts)
    return [
        f"speedup over {_of_ranks(first)}: {', '.join(said)}",
        *([f"not certain: {'; '.join(cautions)}"] if cautions else []),
    ]


def _why_superlinear(first: Prediction, one: Prediction) -> str:
    """The reason why a rank computes in less than its share of the time."""
    there, here = first.spec.batch_per_rank, one.spec.batch_per_rank
    if here == there:
        return "a rank updates only its shard of the parameters"
    return f"one rank took less than its share of the time for {here:,} of {there:,} examples"


def _messages(one: Prediction) -> list[str]:
    """The messages of a step at one size."""
    sums = one.message_sums
    if not sums:
        return [f"{_of_ranks(one)}: a step sends no messages"]
    rows = [
        [
            each.phase,
            each.group,
            each.op,
            f"{each.group_size:,}",
            f"{each.group_nodes:,}",
            f"{each.messages:,}",
            size_text(each.message_bytes),
        ]
        for each in sums
    ]
    heads = ["phase", "group", "operation", "ranks", "nodes", "messages", "bytes"]
    return [f"{_of_ranks(one)}: messages of a step", *aligned([heads, *rows], left=3)]


def _of_ranks(one: Prediction) -> str:
    return f"{one.spec.world_text} rank{'s' * (one.spec.world_size > 1)}"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else three_digits(1e3 * seconds)


def _bound(words: str, one: Prediction, known: str) -> str:
    return f"{words} {known}" if one.step_is_upper_bound and known else known


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.1f} %"
