"""The interpolation that the views use between the rows of student_t."""

STUDENT_T = """
SELECT exp(ln(t) + (1 / x - 1 / df) / (1 / next_df - 1 / df) * ln(next_t / t)) AS t
FROM (VALUES {values}) AS wanted(x) JOIN student_t ON x >= df AND x < next_df ORDER BY x
"""
