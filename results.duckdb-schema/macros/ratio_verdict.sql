-- The verdict on a ratio of two throughputs with its 95 % interval: `faster` or `slower` where the interval excludes 1,
-- `same` where it lies within 1 ± margin, else `inconclusive`, as where there is no interval; null without a ratio.
CREATE OR REPLACE MACRO ratio_verdict(ratio, ratio_lo, ratio_hi, margin) AS (
    CASE
        WHEN ratio IS NULL THEN NULL
        WHEN ratio_lo > 1 THEN 'faster'
        WHEN ratio_hi < 1 THEN 'slower'
        WHEN ratio_lo >= 1 - margin AND ratio_hi <= 1 + margin THEN 'same'
        ELSE 'inconclusive'
    END
);
