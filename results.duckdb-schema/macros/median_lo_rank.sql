-- The 1-based rank of the lower end of the 95 % interval of the median of n sorted values; n + 1 minus it is the upper
-- end's. Between the l-th smallest and the l-th largest lies the median with the probability that a binomial of n fair
-- coins lies between l and n - l. By the normal distribution with half a value of continuity l is the exact rank or the
-- one before it, never the one after (a test holds it). Null below six values: there is no such rank.
CREATE OR REPLACE MACRO median_lo_rank(n) AS (
    nullif(floor((n + 1 - 1.959964 * sqrt(n)) / 2)::BIGINT, 0)
);
