-- The two-sided 95 % quantile of Student's t at a number of degrees of freedom; null below 1. One number per call.
-- ln t is close to linear in 1/df between the rows of student_t: right to 0.02 %.
CREATE OR REPLACE MACRO t_quantile(wanted_df) AS (
    SELECT exp(ln(t) + (1 / wanted_df - 1 / df) / (1 / next_df - 1 / df) * ln(next_t / t))
    FROM student_t
    WHERE wanted_df >= df AND wanted_df < next_df
);
