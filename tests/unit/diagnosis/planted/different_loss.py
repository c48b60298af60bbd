from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps

LOSS = np.linspace(2.3, 0.3, 12)


def fires(results: Path) -> None:
    """Two ranks drift away by a thousandth in fp32, and by more than rounding with compressed gradients and in bf16.
    In another case both repeats have a NaN."""
    cases = [
        Case(name="drifts", step_ms={1: 10.0, 2: 6.0}),
        Case(
            name="compressed",
            step_ms={1: 10.0, 2: 6.0},
            strategy_options={"gradient_compression": "fp16"},
        ),
        Case(
            name="sharded",
            step_ms={1: 10.0, 2: 6.0},
            strategy="fsdp",
            strategy_options={"reduce_dtype": "bf16"},
        ),
        Case(name="bf16", step_ms={1: 10.0, 2: 6.0}, precision="bf16"),
        Case(name="nan", step_ms={1: 10.0, 2: 6.0}),
    ]
    folder = make_session(results, cases)
    for case, drift in zip(cases[:-1], (1e-3, 0.1, 0.1, 0.1), strict=True):
        for repeat in range(2):
            rewrite_steps(folder, f"{case.name}.1x2.r{repeat}", {"loss": LOSS * (1 + drift)})
    for repeat in range(2):
        rewrite_steps(
            folder, f"nan.1x2.r{repeat}", {"loss": np.where(np.arange(LOSS.size) < 6, LOSS, np.nan)}
        )


def quiet(results: Path) -> None:
    """They drift within rounding; weak scaling gives two ranks other batches, so that losses must differ; and a single
    repeat has a NaN."""
    cases = [
        Case(name="rounding", step_ms={1: 10.0, 2: 6.0}),
        Case(name="weak", step_ms={1: 10.0, 2: 11.0}, scaling="weak"),
        Case(name="nan", step_ms={1: 10.0, 2: 6.0}),
    ]
    folder = make_session(results, cases)
    for case, drift in zip(cases[:2], (0.9e-4, 0.1), strict=True):
        for repeat in range(3):
            rewrite_steps(folder, f"{case.name}.1x2.r{repeat}", {"loss": LOSS * (1 + drift)})
    for repeat in range(3):
        for size in (1, 2):
            rewrite_steps(folder, f"nan.1x{size}.r{repeat}", {"loss": LOSS})
    rewrite_steps(folder, "nan.1x2.r1", {"loss": np.where(np.arange(LOSS.size) < 6, LOSS, np.nan)})
