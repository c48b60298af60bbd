-- The geometric mean over a group's values; nulls take no part. Equal values are their own mean, without rounding.
CREATE OR REPLACE MACRO geometric_mean(x) AS (
    CASE WHEN min(x) = max(x) THEN min(x) ELSE exp(avg(ln(x))) END
);
