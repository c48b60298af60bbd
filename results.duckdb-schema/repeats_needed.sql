-- The number of further repeats on both sides after which half_width is as small as wanted, if their variances stay
-- what they are; at least 1. Null above 1,000, and where a side has no variance yet. With the normal distribution's
-- quantile the number is the root of a quadratic; with Student's it is that or up to three more (a test holds it).
CREATE OR REPLACE MACRO repeats_needed(repeats, log_variance, other_repeats, other_log_variance, wanted) AS (
    SELECT min(more)
    FROM (
        SELECT unnest(range(smallest, smallest + 8)) AS more
        FROM (
            SELECT
                least(greatest(ceil((sqrt(greatest(b ** 2 - 4 * a * c, 0)) - b) / (2 * a)), 1), 1001)::BIGINT
                    AS smallest
            FROM (
                SELECT
                    (wanted / 1.959964) ** 2 AS a,
                    a * (repeats + other_repeats) - log_variance - other_log_variance AS b,
                    a * repeats * other_repeats - log_variance * other_repeats - other_log_variance * repeats AS c
            ) AS quadratic
            WHERE wanted > 0
        ) AS by_normal
    ) AS candidates
    WHERE more <= 1000
        AND half_width(repeats + more, log_variance, other_repeats + more, other_log_variance) <= wanted
);
