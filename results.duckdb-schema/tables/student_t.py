"""Writes student_t.sql, since DuckDB has no t quantile: `python results.duckdb-schema/tables/student_t.py`."""

from pathlib import Path

from bench.records.t_interval import t_quantile

HEAD = """-- One row per interval of degrees of freedom: the two-sided 95 % quantile of Student's t at its two ends.
-- The grid is fine where the curve bends; in between, ln t interpolated linearly in 1/df is right to 0.02 % (tested).
-- Written by student_t.py: change it there.
CREATE TABLE student_t (
    df DOUBLE,                     -- left end, included
    t DOUBLE,                      -- t at df
    next_df DOUBLE,                -- right end, excluded
    next_t DOUBLE                  -- t at next_df
);
INSERT INTO student_t VALUES
"""


def grid() -> list[float]:
    """1 to 5 in steps of 0.05, then coarser; beyond the last point the normal distribution is close enough."""
    fine = [round(1 + 0.05 * i, 2) for i in range(80)]
    middle = [5 + 0.25 * i for i in range(20)]
    coarse = [float(i) for i in range(10, 30)]
    return [*fine, *middle, *coarse, 30, 35, 40, 50, 60, 80, 120, 240, 1000, 10_000]


def table() -> str:
    """The SQL of the table."""
    left = grid()
    right = [*left[1:], float("inf")]
    rows = [
        f"    ({df:g}, {t_quantile(df):.10f}, {_sql(next_df)}, {t_quantile(next_df):.10f})"
        for df, next_df in zip(left, right, strict=True)
    ]
    return HEAD + ",\n".join(rows) + ";\n"


def _sql(df: float) -> str:
    return "'infinity'::DOUBLE" if df == float("inf") else f"{df:g}"


if __name__ == "__main__":
    Path(__file__).with_name("student_t.sql").write_text(table(), encoding="utf-8")
