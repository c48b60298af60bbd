-- Mean of a list; null if the list is empty. The mean of equal numbers is exactly that number, without rounding error.
CREATE OR REPLACE MACRO mean_of(numbers) AS (
    CASE WHEN list_min(numbers) = list_max(numbers) THEN list_min(numbers) ELSE list_avg(numbers) END
);

-- Sample variance of a list; null for fewer than two numbers. The variance of equal numbers is exactly 0.
CREATE OR REPLACE MACRO variance_of(numbers) AS (
    CASE WHEN len(numbers) > 1 AND list_min(numbers) = list_max(numbers) THEN 0 ELSE list_var_samp(numbers) END
);

-- Aggregate: sample variance of ln(x) over a group; null for fewer than two values. The variance of equal values is
-- exactly 0.
CREATE OR REPLACE MACRO variance_of_log(x) AS (
    CASE WHEN count(x) < 2 THEN NULL WHEN min(x) = max(x) THEN 0 ELSE var_samp(ln(x)) END
);

-- Aggregate: geometric mean over a group; nulls are ignored. The mean of equal values is exactly that value.
CREATE OR REPLACE MACRO geometric_mean(x) AS (
    CASE WHEN min(x) = max(x) THEN min(x) ELSE exp(avg(ln(x))) END
);

-- Two-sided quantile of Student's t for the given degrees of freedom: 95 % over repeats whose number was fixed, 96.5 %
-- if `is_stopped_early`; null below 1. If repeats are added until an interval is narrow, the last one is too narrow: of
-- intervals with the second quantile, about 95 of 100 then hold the truth (benchmarks/coverage.py). DuckDB has no t
-- quantile: these are the polynomials in 1/df of bench/records/t_interval.py. Their relative error is at most 1e-11
-- (tested).
CREATE OR REPLACE MACRO t_quantile_for(df, is_stopped_early) AS (
    CASE
        WHEN df >= 1
        THEN exp(list_reduce(
            CASE WHEN is_stopped_early THEN '[
                -0.17473223750029585, 1.9795790188961637, -10.50782301378865, 34.74946804960866, -80.30792754807193,
                137.87367688681502, -182.31683217049417, 189.59949334074014, -156.29108134215, 101.44571115985501,
                -50.54461842524605, 18.384428849435285, -4.468661337056283, 0.458866873870241, 0.3592616475985696,
                -0.19776718862002649, -0.3335975572263981, 0.21047089268204328, 0.8746969594138382,
                1.3612937853428841, 0.7459096348081955
            ]'::DOUBLE[] ELSE '[
                -0.18804363781575298, 2.115691298767761, -11.13355528034062, 36.40929527999736, -82.91450918655215,
                139.62194296623608, -180.1065143641185, 181.72985510248844, -144.8232635692599, 90.89732151914617,
                -43.97607025929754, 15.514865398676745, -3.4788696628981857, 0.2175988920016344, 0.24122868068758524,
                -0.09659257654820574, -0.23123518336523025, 0.15206885727974878, 0.7075853575757564,
                1.2103647055608104, 0.6729260978384966
            ]'::DOUBLE[] END,
            lambda sum, coefficient: sum / df + coefficient
        ))
    END
);

-- The 95 % quantile of `t_quantile_for`.
CREATE OR REPLACE MACRO t_quantile(df) AS (t_quantile_for(df, false));

-- Probability that Student's t with df degrees of freedom exceeds |t|, with a relative error of at most 1e-9 (tested).
-- DuckDB has no t distribution, so the density is integrated from |t| by double-exponential quadrature (x = |t| +
-- exp(pi / 2 sinh(s)), s = node / 16). This suits both power-law tails, as at df = 1, and tails as short as the normal
-- distribution's. Returns one number per call.
CREATE OR REPLACE MACRO t_tail(t, df) AS (
    exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi()) / 16
    * list_sum(list_transform(
        range(-70, 71),
        lambda node: pi() / 2 * cosh(node / 16) * exp(pi() / 2 * sinh(node / 16))
            * (1 + (abs(t) + exp(pi() / 2 * sinh(node / 16))) ** 2 / df) ** (-(df + 1) / 2)
    ))
);

-- Two-sided quantile of Student's t: |t| exceeds it with probability p, at most 0.05. By Newton's method from the 95 %
-- quantile, with a relative error of at most 1e-9 from p = 1e-4 on (tested). Null below one degree of freedom.
CREATE OR REPLACE MACRO t_quantile_at(p, df) AS (
    list_reduce(
        list_prepend(t_quantile(df), range(16)::DOUBLE[]),
        lambda t, step: t + (t_tail(t, df) - p / 2)
            / (exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi()) * (1 + t ** 2 / df) ** (-(df + 1) / 2))
    )
);

-- Probability that an F of k and m degrees of freedom exceeds f, with a relative error of at most 1e-9 (tested). It is
-- the incomplete beta function at m / (m + k f), integrated by double-exponential quadrature (u and 1 - u are logistic
-- functions of pi sinh(s), s = node / 32). Null below 0.
CREATE OR REPLACE MACRO f_tail(f, k, m) AS (
    CASE WHEN f >= 0 THEN
        exp(lgamma((k + m) / 2) - lgamma(k / 2) - lgamma(m / 2) - m / 2 * ln(1 + k * f / m)) / 32
        * list_sum(list_transform(
            range(-128, 129),
            lambda node: pi() * cosh(node / 32) / (1 + exp(pi() * sinh(node / 32)))
                * (1 / (1 + exp(-pi() * sinh(node / 32)))) ** (m / 2)
                * ((k * f + m / (1 + exp(pi() * sinh(node / 32)))) / (m + k * f)) ** (k / 2 - 1)
        ))
    END
);

-- Degrees of freedom of Welch's t (Satterthwaite), where a and b are the variances of the means of m and n units. If
-- one variance is zero, these are Student's degrees of freedom of the other side. If both are zero, the result is 1:
-- any t times zero is zero. Null if a variance is unknown. Returns one number per call.
CREATE OR REPLACE MACRO welch_df(a, m, b, n) AS (
    CASE
        WHEN a + b > 0 THEN (a + b) ** 2 / (a ** 2 / (m - 1) + b ** 2 / (n - 1))
        WHEN a + b = 0 THEN 1
    END
);

-- Differences of two lists of {block, value}, one for each block that both have; blocks that are null have none. A
-- block is a round of a session, or a session, and is in each list once: an effect on all of it does not change a
-- difference within it.
CREATE OR REPLACE MACRO differences_within(here, there) AS (
    flatten([[one.value - other.value FOR other IN there IF other.block = one.block] FOR one IN here])
);

-- Half-width of Welch's 95 % interval of the difference of the means of two lists, each of two numbers or more.
CREATE OR REPLACE MACRO welch_half_width(here, there, is_stopped_early := false) AS (
    t_quantile_for(
        welch_df(
            variance_of(here) / len(here), len(here), variance_of(there) / len(there), len(there)
        ),
        is_stopped_early
    ) * sqrt(variance_of(here) / len(here) + variance_of(there) / len(there))
);

-- Half-width of the 95 % interval of a mean over repeats (Student's t), from their number and sample variance. Null
-- below two repeats. Returns one number per call.
CREATE OR REPLACE MACRO mean_half_width(repeats, variance, is_stopped_early := false) AS (
    t_quantile_for(CASE WHEN repeats > 1 THEN repeats - 1 END, is_stopped_early) * sqrt(variance / repeats)
);

-- Twice the probability that of n values, drawn independently, fewer than k lie below the median.
CREATE OR REPLACE MACRO median_tails(k, n) AS (
    2 * list_sum([exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * ln(2)) FOR i IN range(k)])
);

-- Which of n sorted values enclose the ends of the interval of their median at that level, as {k, w}: the lower end is
-- (1 - w) times the k-th smallest value plus w times the next, the upper end its mirror image (Hettmansperger and
-- Sheather 1986). If the values are too few for the level, the ends are the lowest and the highest.
CREATE OR REPLACE MACRO median_places(n, level) AS (
    [
        {
            'k': of.k,
            'w': CASE
                WHEN of.k + 1 > n / 2 OR of.part < 0 THEN 0
                ELSE (n - of.k) * of.part / (of.k + (n - 2 * of.k) * of.part)
            END
        }
        FOR of IN [
            {
                'k': found,
                'part': (1 - level - median_tails(found, n))
                    / (median_tails(found + 1, n) - median_tails(found, n))
            }
            FOR found IN [greatest(1, len([k FOR k IN range(1, n // 2 + 1) IF median_tails(k, n) <= 1 - level]))]
        ]
    ][1]
);

-- The ends of the interval of the median of sorted values at that level, {lo, hi}, by `median_places`.
CREATE OR REPLACE MACRO median_ends(sorted, level) AS (
    [
        {
            'lo': (1 - of.w) * sorted[of.k] + of.w * sorted[of.k + 1],
            'hi': (1 - of.w) * sorted[len(sorted) + 1 - of.k] + of.w * sorted[len(sorted) - of.k]
        }
        FOR of IN [median_places(len(sorted), level)]
    ][1]
);

-- The middle of a list of logarithms with its 95 % interval, {point, lo, hi}. Below three numbers it is their mean,
-- without an interval; below six their mean with Student's interval; from six on the median with the interval of
-- `median_ends`, which a minority of far numbers does not move. Null for an empty list. Returns one struct per call.
CREATE OR REPLACE MACRO median_interval(numbers, is_stopped_early := false) AS (
    [
        CASE
            WHEN of.n > 5 THEN {
                'point': list_median(of.sorted), 'lo': of.ends.lo, 'hi': of.ends.hi
            }
            WHEN of.n > 0 THEN {
                'point': mean_of(of.sorted),
                'lo': mean_of(of.sorted) - of.half_width,
                'hi': mean_of(of.sorted) + of.half_width
            }
        END
        FOR of IN [
            {
                'sorted': list_sort(numbers),
                'n': len(numbers),
                'ends': CASE WHEN len(numbers) > 5 THEN
                    median_ends(list_sort(numbers), CASE WHEN is_stopped_early THEN 0.965 ELSE 0.95 END)
                END,
                'half_width': CASE WHEN len(numbers) BETWEEN 3 AND 5 THEN
                    t_quantile_for(len(numbers) - 1, is_stopped_early) * sqrt(variance_of(numbers) / len(numbers))
                END
            }
        ]
    ][1]
);

-- ln(throughput here ÷ there) with its 95 % interval, {point, lo, hi, rounds, df}, from two lists of {block, value}: by
-- `median_interval` of the differences within blocks if there are three or more, which `rounds` then counts; otherwise
-- the difference of both means, with Welch's interval if each side has two values and one has three. `df`: degrees of
-- freedom of a t that has this interval. `error`: the most by which rounding moves the ratio (`widened`). Null if a
-- side has no value. Returns one struct per call.
CREATE OR REPLACE MACRO log_ratio(here, there, is_stopped_early := false, error := 0) AS (
    [
        CASE WHEN widths.point IS NOT NULL THEN {
            'point': widths.point,
            'lo': widened(widths, error).lo,
            'hi': widened(widths, error).hi,
            'rounds': widths.rounds,
            -- what rounding alone can do is known for certain
            'df': CASE WHEN widths.hi = widths.lo THEN 1e6 ELSE widths.df END
        } END
        FOR widths IN [
            CASE WHEN len(found.differences) > 2 THEN {
                'point': found.middle.point, 'lo': found.middle.lo, 'hi': found.middle.hi,
                'rounds': len(found.differences), 'df': (len(found.differences) - 1)::DOUBLE
            }
            ELSE {
                'point': found.difference,
                'lo': found.difference - found.half_width,
                'hi': found.difference + found.half_width,
                'rounds': NULL,
                'df': found.df
            } END
            FOR found IN [
                {
                    'differences': lists[1],
                    'middle': CASE WHEN len(lists[1]) > 2 THEN
                        median_interval(lists[1], is_stopped_early := is_stopped_early)
                    END,
                    'difference': mean_of(lists[2]) - mean_of(lists[3]),
                    'half_width': CASE WHEN least(len(lists[2]), len(lists[3])) > 1
                        AND greatest(len(lists[2]), len(lists[3])) > 2
                    THEN welch_half_width(lists[2], lists[3], is_stopped_early := is_stopped_early) END,
                    'df': welch_df(
                        variance_of(lists[2]) / len(lists[2]), len(lists[2]),
                        variance_of(lists[3]) / len(lists[3]), len(lists[3])
                    )
                }
                FOR lists IN [[
                    differences_within(here, there), [one.value FOR one IN here], [one.value FOR one IN there]
                ]]
            ]
        ]
    ][1]
);

-- Standard error of a result of `log_ratio` towards a value: that half of its interval counts which reaches to it. (The
-- interval of a median is not symmetric.)
CREATE OR REPLACE MACRO error_towards(of_ratio, goal, is_stopped_early) AS (
    CASE WHEN goal < of_ratio.point THEN of_ratio.point - of_ratio.lo ELSE of_ratio.hi - of_ratio.point END
        / t_quantile_for(of_ratio.df, is_stopped_early)
);

-- One-sided p-value of a result of `log_ratio` that is this low or lower, if the true value is not below `limit`.
CREATE OR REPLACE MACRO p_of_ratio_below(of_ratio, limit_, is_stopped_early) AS (
    p_not_below(of_ratio.point - limit_, error_towards(of_ratio, limit_, is_stopped_early), of_ratio.df)
);

-- An end of the interval of a share: within 0 and 1, and null if it is unknown. (`greatest` and `least` ignore nulls.)
CREATE OR REPLACE MACRO end_of_share(x) AS (
    CASE WHEN x < 0 THEN 0 WHEN x > 1 THEN 1 ELSE x END
);

-- 1-based rank of the lower end of the 95 % interval of the median of n sorted values; the rank of the upper end is n +
-- 1 minus it. The median lies between the l-th smallest and the l-th largest value with the probability that a binomial
-- of n fair coins lies between l and n - l. The normal approximation with continuity correction gives the exact rank or
-- the one before it, never the one after (tested). Null below six values, where no such rank exists.
CREATE OR REPLACE MACRO median_lo_rank(n) AS (
    nullif(floor((n + 1 - 1.959964 * sqrt(n)) / 2)::BIGINT, 0)
);

-- As `median_lo_rank`, if the n values form a series of which `autocorrelation` successive ones count as one
-- independent value. As that is an estimate, the quantile is then Student's. Null below ten independent values, which
-- are too few for the estimate.
CREATE OR REPLACE MACRO series_median_lo_rank(n, autocorrelation) AS (
    CASE
        WHEN n < 10 * autocorrelation THEN NULL
        WHEN autocorrelation = 1 THEN median_lo_rank(n)
        ELSE floor((n + 1 - t_quantile(n / autocorrelation - 1) * sqrt(n * autocorrelation)) / 2)::BIGINT
    END
);

-- One-sided p-value of a difference this low or lower if the true difference is not below zero, by Student's t with the
-- given standard error and degrees of freedom. If the standard error is zero, the observed difference counts as the
-- true one. Null if the standard error is unknown. Returns one number per call.
CREATE OR REPLACE MACRO p_not_below(difference, se, df) AS (
    CASE
        WHEN se = 0 THEN (difference >= 0)::INTEGER
        ELSE (difference >= 0)::INTEGER
            + CASE WHEN difference < 0 THEN 1 ELSE -1 END * t_tail(difference / nullif(se, 0), df)
    END
);

-- First of the two steps of Holm's correction over the rows of a family (a column or a constant): the smallest of k
-- p-values times k, the next times k - 1, and so on. Nulls are ignored. `holm_p_of` is the second step.
CREATE OR REPLACE MACRO holm_step(p, family) AS (
    p * (
        count(p) OVER (PARTITION BY family) + 1
        - row_number() OVER (PARTITION BY family ORDER BY p NULLS LAST)
    )
);

-- Second step of Holm's correction over the rows of a family: the corrected p-value, where `step` is the result of
-- `holm_step`. No corrected p-value is lower than that of a smaller p. Null if p is null.
CREATE OR REPLACE MACRO holm_p_of(p, step, family) AS (
    CASE WHEN p >= 0 THEN least(1, max(step) OVER (PARTITION BY family ORDER BY p NULLS LAST)) END
);

-- Half-width of the interval of a median of n differences ÷ their standard deviation: Student's, and a tenth more from
-- six on, where the interval is that of the median.
CREATE OR REPLACE MACRO half_widths_of(n, is_stopped_early) AS (
    t_quantile_for(n - 1, is_stopped_early) / sqrt(n) * CASE WHEN n > 5 THEN 1.1 ELSE 1 END
);

-- The most by which rounding moves a logarithm: `resolution` is the distance between two possible values ÷ the value.
-- 0 if it is null; null where a rounded value has less than one digit.
CREATE OR REPLACE MACRO rounding_error(resolution) AS (
    CASE WHEN resolution IS NULL THEN 0 WHEN resolution <= 0.5 THEN -ln(1 - resolution / 2) END
);

-- A 95 % interval of logarithms, {point, lo, hi}, widened by the most by which rounding moves them, a sum over the
-- values (`rounding_error`). It is the same in every repeat, so more repeats do not narrow it; without noise, the
-- interval holds the truth for certain. No interval if it is null. Returns one struct.
CREATE OR REPLACE MACRO widened(middle, error) AS (
    [
        CASE
            WHEN error = 0 THEN {'point': of.point, 'lo': of.lo, 'hi': of.hi}
            ELSE {
                'point': of.point,
                'lo': of.point - sqrt((of.point - of.lo) ** 2 + error ** 2),
                'hi': of.point + sqrt((of.hi - of.point) ** 2 + error ** 2)
            }
        END
        FOR of IN [middle]
    ][1]
);

-- Number of further rounds, `fewest` to 20, after which the interval is probably, in four of five sessions, on one side
-- of a border at this distance from the point of today's `rounds`; null if 20 more would not do. `deviation`: of a
-- difference within a round; `error`: the most by which rounding moves the ratio. Returns one number per call.
CREATE OR REPLACE MACRO rounds_to_decide(
    deviation, rounds, distance, is_stopped_early, fewest := 3, error := 0
) AS (
    [
        more FOR more IN range(fewest, 21)
        IF sqrt((deviation * half_widths_of(rounds + more, is_stopped_early)) ** 2 + error ** 2)
            -- a median moves by a quarter more than a mean
            + deviation * 0.8416 * CASE WHEN rounds > 5 THEN 1.25 ELSE 1 END * sqrt(1 / rounds - 1 / (rounds + more))
            <= distance
    ][1]
);

-- The same until the half-width of the interval is at most `wanted`: the true variance is not above that of four of
-- five sessions (Wilson and Hilferty's approximation of the chi-squared distribution).
CREATE OR REPLACE MACRO rounds_to_width(deviation, rounds, wanted, is_stopped_early, fewest := 3) AS (
    [
        more FOR more IN range(fewest, 21)
        IF deviation * half_widths_of(rounds + more, is_stopped_early)
            / greatest(0.02, 1 - 2 / (9 * (rounds - 1)) - 0.8416 * sqrt(2 / (9 * (rounds - 1)))) ** 1.5 <= wanted
    ][1]
);
