-- The sample variance of ln(x) over a group's values; null below two. Equal values have none: rounding must not invent
-- one.
CREATE OR REPLACE MACRO variance_of_log(x) AS (
    CASE WHEN count(x) < 2 THEN NULL WHEN min(x) = max(x) THEN 0 ELSE var_samp(ln(x)) END
);
