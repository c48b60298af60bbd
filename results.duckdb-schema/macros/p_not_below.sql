-- The one-sided probability of a difference as low as this one, or lower, where the true one is not below zero: by
-- Student's t with its standard error and degrees of freedom. Without a standard error what is seen is true. Null where
-- the standard error is unknown. One number per call.
CREATE OR REPLACE MACRO p_not_below(difference, se, df) AS (
    CASE
        WHEN se = 0 THEN (difference >= 0)::INTEGER
        ELSE (difference >= 0)::INTEGER
            + CASE WHEN difference < 0 THEN 1 ELSE -1 END * t_tail(difference / nullif(se, 0), df)
    END
);
