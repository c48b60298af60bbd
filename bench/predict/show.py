"""Predictions as people read them: a table per case, and a sentence on what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from bench.predict.prediction import Prediction

_MEMORY = ("parameters", "gradients", "optimizer", "activations", "communication", "total")
_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def lines(predictions: Sequence[Prediction]) -> list[str]:
    """A table and a sentence for each case, in the order given."""
    found: list[str] = []
    for _, sizes in groupby(predictions, key=lambda one: one.spec.case_name):
        found += [*_case(list(sizes)), ""]
    return found[:-1]


def size_text(size_bytes: float) -> str:
    """`12.3 GiB`, in the largest unit of which there is one at least."""
    name, unit = _unit(size_bytes)
    return (
        f"{size_bytes / unit:.3g} {name}" if size_bytes / unit < 1000 else f"{size_bytes / unit:,.0f} {name}"
    )


def _case(sizes: list[Prediction]) -> list[str]:
    spec = sizes[0].spec
    head = f"{spec.case_name}: {spec.strategy} on {spec.device_type}, {spec.train.precision}"
    if sizes[0].parameters is not None:
        head += f", {sizes[0].parameters:,} parameters"
    known = [one for one in sizes if one.memory is not None]
    return [head, *(_table(known) if known else []), *_sentences(sizes)]


def _table(sizes: list[Prediction]) -> list[str]:
    name, unit = _unit(max(one.memory.total for one in sizes if one.memory))
    columns = [
        ("ranks", [_ranks(one) for one in sizes]),
        ("threads", _threads(sizes)),
        ("batch/rank", [str(one.spec.batch_per_rank) for one in sizes]),
        *((part, [f"{getattr(one.memory, part) / unit:.3g}" for one in sizes]) for part in _MEMORY),
        ("fits", [{None: "", True: "yes", False: "no"}[one.fits] for one in sizes]),
        ("network", [_ms(one.time.communication_s) if one.time and one.messages else "" for one in sizes]),
        ("step", [_ms(one.time.step_s) if one.time else "" for one in sizes]),
        ("computing", [_percent(one.time.computing) if one.time else "" for one in sizes]),
    ]
    filled = [(head, cells) for head, cells in columns if any(cells)]
    widths = [max(map(len, (head, *cells))) for head, cells in filled]
    rows = [[head for head, _ in filled], *zip(*(cells for _, cells in filled), strict=True)]
    table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [f"memory per rank in {name}" + (", times in ms" if "network" in dict(filled) else ""), *table]


def _sentences(sizes: list[Prediction]) -> Iterable[str]:
    yield from dict.fromkeys(_problem(one) for one in sizes if one.problem is not None)
    last = sizes[-1]
    if last.memory is not None and last.memory_bytes is not None:
        yield _fitting(sizes, last)
    elif last.memory is not None:
        yield f"{_of_ranks(last)}: {size_text(last.memory.total)} per rank"


def _problem(one: Prediction) -> str:
    return f"{_of_ranks(one)}: {one.problem}" if one.memory is not None else f"no prediction: {one.problem}"


def _fitting(sizes: list[Prediction], last: Prediction) -> str:
    """Of the first that does not fit, else of the last."""
    one = next((size for size in sizes if size.fits is False), last)
    assert one.memory is not None
    assert one.memory_bytes is not None
    text = f"{_of_ranks(one)}: {size_text(one.memory.total)} of {size_text(one.memory_bytes)}: "
    if one.fits:
        return text + f"fits, {size_text(one.memory_bytes - one.memory.total)} are left"
    text += f"does not fit, by {size_text(one.memory.total - one.memory_bytes)}"
    if one.sharded_bytes is not None and one.sharded_bytes < one.memory.total:
        text += f"; fsdp would take {size_text(one.sharded_bytes)}"
    return text


def _of_ranks(one: Prediction) -> str:
    return f"{_ranks(one)} rank{'s' * (one.spec.world_size > 1)}"


def _ranks(one: Prediction) -> str:
    spec = one.spec
    return str(spec.world_size) if spec.nodes == 1 else f"{spec.nodes}x{spec.ranks_per_node}"


def _threads(sizes: list[Prediction]) -> list[str]:
    """Nothing where all sizes have as many."""
    threads = [str(one.spec.threads) for one in sizes]
    return threads if len(set(threads)) > 1 else []


def _unit(size_bytes: float) -> tuple[str, int]:
    return next((one for one in _UNITS if size_bytes >= one[1]), _UNITS[-1])


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _percent(fraction: float | None) -> str:
    return "" if fraction is None else f"{100 * fraction:.1f} %"
