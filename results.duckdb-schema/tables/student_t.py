"""Writes student_t.sql: `python results.duckdb-schema/tables/student_t.py`, with scipy. DuckDB has no t quantile."""

from pathlib import Path

import numpy as np
from scipy.stats import t

HEAD = """-- One row per interval of degrees of freedom: the two-sided 95 % quantile of Student's t at its two ends.
-- Fine in df where it is curved; in between, ln t linear in 1/df is right to 0.02 % (a test holds it).
-- Written by student_t.py: change it there.
CREATE TABLE student_t (
    df DOUBLE,                     -- left end, included
    t DOUBLE,                      -- at df
    next_df DOUBLE,                -- right end, excluded
    next_t DOUBLE                  -- at next_df
);
INSERT INTO student_t VALUES
"""


def grid() -> list[float]:
    """1 to 5 by 0.05, then ever coarser; beyond the last the normal distribution is near enough."""
    fine = [round(1 + 0.05 * i, 2) for i in range(80)]
    middle = [5 + 0.25 * i for i in range(20)]
    coarse = [float(i) for i in range(10, 30)]
    return [*fine, *middle, *coarse, 30, 35, 40, 50, 60, 80, 120, 240, 1000, 10_000]


def main() -> None:
    left = grid()
    right = [*left[1:], float("inf")]
    rows = [_row(a, b) for a, b in zip(left, right, strict=True)]
    target = Path(__file__).with_name("student_t.sql")
    target.write_text(HEAD + ",\n".join(rows) + ";\n", encoding="utf-8")


def _row(df: float, next_df: float) -> str:
    right = "'infinity'::DOUBLE" if np.isinf(next_df) else f"{next_df:g}"
    return f"    ({df:g}, {t.ppf(0.975, df):.10f}, {right}, {t.ppf(0.975, next_df):.10f})"


if __name__ == "__main__":
    main()
