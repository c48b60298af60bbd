"""Predictions as text: one table per case, and a sentence on whether it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import groupby

from bench.common.own_part import label
from bench.common.terminal import aligned
from bench.predict.predict import Prediction
from bench.shadow.records import PeakMemory

_KINDS = tuple(one.name for one in fields(PeakMemory))
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def lines(predictions: Sequence[Prediction]) -> list[str]:
    """A table and a sentence for each case, in the order given."""
    found: list[str] = []
    for _, one_case in groupby(predictions, key=lambda one: one.spec.case_name):
        sizes = list(one_case)
        spec = sizes[0].spec
        head = f"{spec.case_name}: {label(spec.strategy)} on {spec.device_type}, {spec.train.precision}"
        if sizes[0].parameters is not None:
            head += f", {sizes[0].parameters:,} parameters"
        known = [one for one in sizes if one.memory is not None]
        found += [head, *(_table(known) if known else []), *_problems(sizes)]
        found += dict.fromkeys(f"assumed: {note}" for one in sizes for note in one.notes)
        last = sizes[-1]
        if last.memory is not None and last.memory_bytes is not None:
            found.append(_fitting(sizes, last))
        elif last.memory is not None:
            found.append(f"{_of_ranks(last)}: {size_text(last.memory.total)} per rank")
        found.append("")
    return found[:-1]


def _table(sizes: list[Prediction]) -> list[str]:
    name, unit = _unit(max(one.memory.total for one in sizes if one.memory))
    threads = [str(one.spec.threads) for one in sizes]
    columns = [
        ("ranks", [_ranks(one) for one in sizes]),
        ("threads", threads if len(set(threads)) > 1 else []),
        ("batch/rank", [str(one.spec.batch_per_rank or "") for one in sizes]),
        *(
            (kind, cells)
            for kind in _KINDS
            if any(getattr(one.memory, kind) for one in sizes)
            for cells in [[f"{getattr(one.memory, kind) / unit:.3g}" for one in sizes]]
        ),
        ("total", [f"{one.memory.total / unit:.3g}" for one in sizes if one.memory]),
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
    """Each once: sizes that cannot be predicted for the same reason share a line."""
    texts = (
        f"{_of_ranks(one)}: {one.problem}" if one.memory is not None else f"no prediction: {one.problem}"
        for one in sizes
        if one.problem is not None
    )
    return list(dict.fromkeys(texts))


def _fitting(sizes: list[Prediction], last: Prediction) -> str:
    """A sentence on the first size that does not fit; if all fit, on the last."""
    one = next((size for size in sizes if size.fits is False), last)
    assert one.memory is not None
    assert one.memory_bytes is not None
    text = f"{_of_ranks(one)}: {size_text(one.memory.total)} of {size_text(one.memory_bytes)}: "
    if one.fits:
        return text + f"fits, {size_text(one.memory_bytes - one.memory.total)} left"
    text += f"does not fit, by {size_text(one.memory.total - one.memory_bytes)}"
    if one.fsdp_bytes is not None and one.fsdp_bytes < one.memory.total:
        text += f"; fsdp would take {size_text(one.fsdp_bytes)}"
    return text


def size_text(size_bytes: float) -> str:
    """`12.3 GiB`, in the largest unit that gives at least 1."""
    name, unit = _unit(size_bytes)
    size = size_bytes / unit
    return f"{size:.3g} {name}" if size < 1000 else f"{size:,.0f} {name}"


def _unit(size_bytes: float) -> tuple[str, int]:
    return next((one for one in _UNITS if size_bytes >= one[1]), _UNITS[-1])


def _of_ranks(one: Prediction) -> str:
    return f"{_ranks(one)} rank{'s' * (one.spec.world_size > 1)}"


def _ranks(one: Prediction) -> str:
    spec = one.spec
    return str(spec.world_size) if spec.nodes == 1 else f"{spec.nodes}x{spec.ranks_per_node}"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _bound(words: str, one: Prediction, known: str) -> str:
    return f"{words} {known}" if one.step_is_upper_bound and known else known


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.1f} %"
