"""Tables of coverage.py: how often predictions of laws hold, for made-up runs and for published curves without their
largest size.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from analysis.database import schema
from analysis.database.rows import insert_rows
from analysis.laws.fit_rows import fit_laws
from analysis.laws.forms import FORMS
from analysis.laws.law import Law
from analysis.laws.size_means import size_means

FOUR, SIX = (1, 2, 4, 8), (1, 2, 4, 8, 16, 32)
NOISE_OF_ROUNDS = 0.03
"""Standard deviation of what all runs of a round have in common, in ln(throughput)."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Runs whose true time is known."""

    name: str
    time: Callable[[int], float]
    """Time of a step over n."""
    scaling: str = "strong"
    sizes: Sequence[int] = FOUR
    repeats: int = 3
    noise: float = 0.02
    """Standard deviation of ln(throughput) of a run."""
    noise_at: Mapping[int, float] = field(default_factory=dict)
    """n -> the noise there, where it is another."""
    peak: float | None = None

    def throughput(self, workers: int) -> float:
        return (workers if self.scaling == "weak" else 1) / self.time(workers)


def _of(name: str, time: Callable[[int], float], **values: Any) -> list[Truth]:
    """With four and with six sizes."""
    return [Truth(name=name, time=time, sizes=sizes, **values) for sizes in (FOUR, SIX)]


def _amdahl(n: int) -> float:
    return 0.05 + 0.95 / n


def _universal(n: int) -> float:
    return (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1)) / n


def _tree(n: int) -> float:
    return 1 / n + 0.02 * float(np.log2(n))


def _border(n: int) -> float:
    return (0.02 + 0.98 / n) * (1 if n <= 8 else 1.15)


_UNIVERSAL_PEAK = float(np.sqrt(0.95 / 0.002))
TRUTHS = (
    *_of("Amdahl, serial 0.05", _amdahl),
    *_of("universal law, 0.05 and 0.002", _universal, peak=_UNIVERSAL_PEAK),
    *_of("1 ÷ n + 0.02 log2 n", _tree, peak=float(np.log(2) / 0.02)),
    *_of("ring, 1 ÷ n + 0.1 (n − 1) ÷ n", lambda n: 1 / n + 0.1 * (n - 1) / n),
    *_of("Gustafson, serial 0.1", lambda n: n / (n - 0.1 * (n - 1)), scaling="weak"),
    *_of("1 + 0.05 log2 n", lambda n: 1 + 0.05 * float(np.log2(n)), scaling="weak"),
    *_of("1 + 0.01 (n − 1)", lambda n: 1 + 0.01 * (n - 1), scaling="weak"),
    *_of("15 % slower from 16 on", _border),
    Truth(name="Amdahl, noise 1 %, at 8 8 %", time=_amdahl, noise=0.01, noise_at={8: 0.08}),
    Truth(name="Amdahl, noise 1 %, at 1 8 %", time=_amdahl, noise=0.01, noise_at={1: 0.08}),
    Truth(name="Amdahl, noise 0.3 %", time=_amdahl, noise=0.003),
    Truth(name="Amdahl, noise 10 %", time=_amdahl, noise=0.1),
    Truth(name="Amdahl, one repeat, noise 3 %", time=_amdahl, repeats=1, noise=0.03),
    Truth(name="Amdahl, one repeat, noise 10 %", time=_amdahl, repeats=1, noise=0.1),
    Truth(name="1 ÷ n + 0.02 log2 n, one repeat, noise 3 %", time=_tree, sizes=SIX, repeats=1, noise=0.03),
    Truth(name="1 ÷ n + 0.02 log2 n, ten repeats", time=_tree, repeats=10),
    Truth(name="1 ÷ n + 0.02 log2 n, three sizes", time=_tree, sizes=(1, 2, 4)),
    Truth(name="Amdahl, three sizes", time=_amdahl, sizes=(1, 2, 4)),
    Truth(name="overlap, max(1 ÷ n, 0.1)", time=lambda n: max(1 / n, 0.1)),
)
"""The last one is what no measured size shows: predictions say `if nothing new begins`."""


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How predictions of one truth turned out; keys are sizes in units of the largest measured one."""

    holds: Mapping[int, float]
    """Share of intervals that contain the true throughput."""
    half_width: Mapping[int, float]
    """Median of the square root of the ratio of an interval's ends."""
    error: Mapping[int, float]
    """Median of predicted ÷ true - 1."""
    weights: Mapping[str, float]
    """Mean weight of each form."""
    peaks: float
    """Share of draws for which a peak is known."""
    wrong_peaks: float
    """Share of draws for which its interval does not contain the true one."""


def _runs(truth: Truth, draws: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of law_points, one case per draw."""
    random = np.random.default_rng(seed)
    for draw in range(draws):
        of_round = random.normal(0, NOISE_OF_ROUNDS, truth.repeats)
        of_round -= of_round.mean()  # the truth is that of an average round
        for repeat in range(truth.repeats):
            for workers in truth.sizes:
                noise = random.normal(0, truth.noise_at.get(workers, truth.noise))
                yield {
                    "session_id": "made",
                    "case_name": f"{draw:05d}",
                    "scaling_mode": truth.scaling,
                    "axis": "threads",
                    "workers": workers,
                    "nodes": 1,
                    "round": repeat,
                    "throughput": truth.throughput(workers) * np.exp(of_round[repeat] + noise),
                }


def coverage(truth: Truth, draws: int, seed: int = 0) -> Coverage:
    """Draw runs, and read predictions from the shipped view."""
    with duckdb.connect() as connection:
        schema.create(connection)
        connection.execute("INSERT INTO sessions (session_id) VALUES ('made')")
        connection.register("made", pa.Table.from_pylist(list(_runs(truth, draws, seed))))
        connection.execute("INSERT INTO law_points BY NAME FROM made")
        insert_rows(connection, "law_fits", fit_laws(connection))
        held = {times: _held(connection, truth, times) for times in (2, 4, 16)}
        weights = connection.execute(
            "SELECT avg(saturating_weight), avg(log_weight), avg(pairs_weight) FROM law_fits"
        ).fetchone()
        peaks = connection.execute(
            "SELECT count(peak_workers), count(*) FILTER (peak_workers IS NOT NULL AND "
            "$1 BETWEEN peak_workers_lo AND coalesce(peak_workers_hi, 'infinity'::DOUBLE)) FROM law_fits",
            [truth.peak or float("inf")],
        ).fetchone()
    assert weights
    assert peaks
    return Coverage(
        holds={times: found[0] for times, found in held.items()},
        half_width={times: found[1] for times, found in held.items()},
        error={times: found[2] for times, found in held.items()},
        weights={
            form.name: weight or 0.0 for form, weight in zip(FORMS[truth.scaling], weights, strict=True)
        },
        peaks=peaks[0] / draws,
        wrong_peaks=(peaks[0] - peaks[1]) / draws,
    )


def _held(connection: duckdb.DuckDBPyConnection, truth: Truth, times: int) -> tuple[float, float, float]:
    workers = times * max(truth.sizes)
    found = connection.execute(
        """
        SELECT
            avg(($truth BETWEEN throughput_lo AND throughput_hi)::INT),
            median(sqrt(throughput_hi / throughput_lo)),
            median(throughput / $truth - 1)
        FROM scaling_prediction
        WHERE workers = $workers
        """,
        {"truth": truth.throughput(workers), "workers": workers},
    ).fetchone()
    assert found
    return found


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published curve of four sizes or more."""

    source: str
    name: str
    scaling: str
    figures: Sequence[tuple[float, float]]
    """Workers and throughput, the largest size last."""

    def without_largest(self, forms: Sequence[str], law_error: float | None) -> tuple[float, float, float]:
        """ln(prediction ÷ measurement) at the largest size by these forms, and the ends of its interval."""
        workers, throughput = (np.array(column) for column in zip(*self.figures, strict=True))
        law = Law(
            [form for form in FORMS[self.scaling] if form.name in forms],
            size_means(workers[:-1], np.log(throughput[:-1]), [None] * (len(workers) - 1)),
            is_weak=self.scaling == "weak",
            **({} if law_error is None else {"law_error": law_error}),
        )
        estimate, low, high = law.log_estimate(workers[-1]) - np.log(throughput[-1])
        return float(estimate), float(low), float(high)


def published() -> list[Published]:
    found = []
    for path in sorted((Path(__file__).parents[1] / "suites/published").glob("*.toml")):
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
        for curve in suite["curve"]:
            is_per_gpu = "per GPU" in curve.get("quantity", suite["quantity"])
            figures = sorted((one[0], one[1] * (one[0] if is_per_gpu else 1)) for one in curve["figures"])
            if len(figures) >= 4 and curve["scaling"] in FORMS:
                name, scaling = curve["name"], curve["scaling"]
                found.append(Published(source=path.stem, name=name, scaling=scaling, figures=figures))
    return found


_ALL_FORMS = ("saturating", "log", "pairs")
_FORMS_TRIED = (_ALL_FORMS, ("saturating", "log"), ("saturating", "pairs"), ("log", "pairs"))
_LAW_ERRORS_TRIED = (0.01, 0.02, 0.03, 0.04, 0.05)


def judged(
    curves: Sequence[Published], forms: Sequence[str] = _ALL_FORMS, law_error: float | None = None
) -> tuple[int, float, float]:
    """How many intervals contain the figure, the median half-width as a factor, and the median error."""
    found = np.array([curve.without_largest(forms, law_error) for curve in curves])
    holds = (found[:, 1] <= 0) & (found[:, 2] >= 0)
    half_width = np.exp(np.median(found[:, 2] - found[:, 1]) / 2)
    return int(holds.sum()), float(half_width), float(np.median(np.abs(np.expm1(found[:, 0]))))


def chosen_on(curves: Sequence[Published]) -> tuple[Sequence[str], float]:
    """The forms and the error of a law with the narrowest intervals of which 95 % hold on these curves."""
    tried = [
        (judged(curves, forms, error), forms, error) for forms in _FORMS_TRIED for error in _LAW_ERRORS_TRIED
    ]
    return min(
        (width, forms, error) for (held, width, _), forms, error in tried if held >= 0.95 * len(curves)
    )[1:]


def table_of_truths(draws: int) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield (
        "| truth | sizes | holds at 2× | at 4× | at 16× | half-width at 2× | at 4× | error at 4× | weights | "
        "peak known, wrong |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for truth in TRUTHS:
        one = coverage(truth, draws)
        cells = [
            f"{truth.scaling}: {truth.name}",
            f"{len(truth.sizes)} to {max(truth.sizes)}",
            *(f"{100 * one.holds[times]:.0f} %" for times in (2, 4, 16)),
            *(f"×/÷ {one.half_width[times]:.2f}" for times in (2, 4)),
            f"{100 * one.error[4]:+.0f} %",
            ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in one.weights.items()),
            f"{100 * one.peaks:.0f} %, {100 * one.wrong_peaks:.0f} %",
        ]
        yield f"| {' | '.join(cells)} |"


def table_of_published() -> Iterator[str]:
    """Lines of a Markdown table."""
    curves = published()
    groups = {
        "all": curves,
        "DLPerf": [curve for curve in curves if curve.source == "dlperf"],
        "DLPerf ResNet-50": [curve for curve in curves if curve.name.startswith("resnet50")],
        "DLPerf BERT": [curve for curve in curves if curve.name.startswith("bert")],
        "others than DLPerf": [curve for curve in curves if curve.source != "dlperf"],
    }
    yield "| curves without their largest size | forms | hold | half-width | error |"
    yield "| --- | --- | --- | --- | --- |"

    def line(name: str, part: Sequence[Published], forms: Sequence[str], law_error: float | None) -> str:
        held, width, error = judged(part, forms, law_error)
        shown = f"{', '.join(forms)}{'' if law_error is None else f' with {100 * law_error:.0f} %'}"
        return f"| {name} | {shown} | {held} of {len(part)} | ×/÷ {width:.2f} | {100 * error:.1f} % |"

    for name, part in groups.items():
        yield line(f"{name}, as shipped", part, _ALL_FORMS, None)
    for one, other in (
        ("DLPerf", "others than DLPerf"),
        ("others than DLPerf", "DLPerf"),
        ("DLPerf ResNet-50", "DLPerf BERT"),
        ("DLPerf BERT", "DLPerf ResNet-50"),
    ):
        yield line(f"{other}, chosen on {one}", groups[other], *chosen_on(groups[one]))


def lines(draws: int) -> Iterator[str]:
    """Both tables, line by line."""
    return chain(table_of_published(), [""], table_of_truths(draws))
