-- The half-width of the 95 % interval of a difference of two mean logarithms (Welch), from the number of repeats and
-- the sample variance of a repeat's logarithm on either side. The other side's variance may be zero: then it is
-- Student's. Null where a side has no variance. One number per call.
CREATE OR REPLACE MACRO half_width(repeats, log_variance, other_repeats, other_log_variance) AS (
    t_quantile(
        welch_df(log_variance / repeats, repeats, other_log_variance / other_repeats, other_repeats)
    ) * sqrt(log_variance / repeats + other_log_variance / other_repeats)
);
