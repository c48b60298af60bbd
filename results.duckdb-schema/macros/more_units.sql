-- The number of further units that each side needs until the interval of their difference is so narrow: the smallest k
-- at which t sqrt(a / (m + k) + b / (n + k)) is at most half_width, where a and b are the variances of m and n units.
-- Null where a variance is unknown or more than 1,000 would be needed. The normal quantile gives a k that is too small
-- by a few; from there on t is tried. One number per call.
CREATE OR REPLACE MACRO more_units(a, m, b, n, half_width) AS (
    WITH wanted AS (
        SELECT (half_width / 1.95996398) ** 2 AS square
    ),
    roots AS (
        -- square (m + k) (n + k) = a (n + k) + b (m + k), solved for k
        SELECT square * (m + n) - a - b AS linear, square * m * n - a * n - b * m AS constant, square FROM wanted
    ),
    normal AS (
        -- real by mathematics; rounding must not make it the root of a negative number
        SELECT greatest(0, floor((sqrt(greatest(linear ** 2 - 4 * square * constant, 0)) - linear) / (2 * square))) AS k
        FROM roots
        WHERE square > 0
    ),
    tried AS (
        SELECT
            k + beyond AS k,
            a / (m + k + beyond) AS a_of_mean,
            b / (n + k + beyond) AS b_of_mean
        FROM normal, range(0, 24) AS steps(beyond)
    ),
    with_welch AS (
        SELECT
            k, a_of_mean + b_of_mean AS square, welch_df(a_of_mean, m + k, b_of_mean, n + k) AS welch_df
        FROM tried
        WHERE k BETWEEN 1 AND 1000
    ),
    final AS (
        SELECT min(k)::BIGINT AS more FROM with_welch WHERE t_quantile(welch_df) * sqrt(square) <= half_width
    )
    SELECT more FROM final
);
