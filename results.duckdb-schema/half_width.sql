-- The half-width of the 95 % interval of a difference of two mean logarithms (Welch, degrees of freedom by
-- Satterthwaite), from the number of repeats and the sample variance of a repeat's logarithm on either side. The other
-- side's variance may be zero: then it is Student's. Null where a side has no variance. One number per call.
CREATE OR REPLACE MACRO half_width(repeats, log_variance, other_repeats, other_log_variance) AS (
    t_quantile(
        -- where neither side varies any t times zero is zero, so that df = 1 serves
        CASE
            WHEN log_variance + other_log_variance > 0
            THEN (log_variance / repeats + other_log_variance / other_repeats) ** 2
                / ((log_variance / repeats) ** 2 / (repeats - 1)
                    + (other_log_variance / other_repeats) ** 2 / (other_repeats - 1))
            WHEN log_variance + other_log_variance = 0 THEN 1
        END
    ) * sqrt(log_variance / repeats + other_log_variance / other_repeats)
);
