"""The interpolation that the views use between the rows of student_t."""

STUDENT_T = """
SELECT exp(ln(t) + (1 / {df} - 1 / df) / (1 / next_df - 1 / df) * ln(next_t / t)) AS t
FROM student_t WHERE {df} >= df AND {df} < next_df
"""
