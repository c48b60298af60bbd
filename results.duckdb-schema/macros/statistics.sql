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

-- The 96.5 % quantile of `t_quantile_for`.
CREATE OR REPLACE MACRO t_quantile_of_stopped(df) AS (t_quantile_for(df, true));

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

-- Whether differences within blocks estimate the difference of m units from n others: three or more, and at least half
-- as many as each side has units; or two, if each side has two units.
CREATE OR REPLACE MACRO are_enough_differences(differences, m, n) AS (
    coalesce(len(differences) >= CASE WHEN m = n AND m = 2 THEN 2 ELSE greatest(3, m / 2, n / 2) END, false)
);

-- Half-width of the 95 % interval of a difference of two mean logarithms (Welch), from each side's number of repeats
-- and sample variance of the logarithm. If the other side's variance is zero, this is Student's interval. Null if a
-- side has no variance. Returns one number per call.
CREATE OR REPLACE MACRO half_width(
    repeats, log_variance, other_repeats, other_log_variance, is_stopped_early := false
) AS (
    t_quantile_for(
        welch_df(log_variance / repeats, repeats, other_log_variance / other_repeats, other_repeats), is_stopped_early
    ) * sqrt(log_variance / repeats + other_log_variance / other_repeats)
);

-- Half-width of the 95 % interval of a mean over repeats (Student's t), from their number and sample variance. Null
-- below two repeats. Returns one number per call.
CREATE OR REPLACE MACRO mean_half_width(repeats, variance, is_stopped_early := false) AS (
    t_quantile_for(CASE WHEN repeats > 1 THEN repeats - 1 END, is_stopped_early) * sqrt(variance / repeats)
);

-- The differences within blocks of two lists of {block, value}, then the values of each list. As a list of one element:
-- `FOR` over it computes them once, however often they are used.
CREATE OR REPLACE MACRO values_of(here, there) AS (
    [[
        differences_within(here, there), [element.value FOR element IN here], [element.value FOR element IN there]
    ]]
);

-- ln(throughput here ÷ there), from two lists of {block, value}: the mean of the differences within blocks if they are
-- enough, else the difference of both means.
CREATE OR REPLACE MACRO log_ratio_of(here, there) AS (
    [
        CASE
            WHEN are_enough_differences(found[1], len(found[2]), len(found[3])) THEN mean_of(found[1])
            ELSE mean_of(found[2]) - mean_of(found[3])
        END
        FOR found IN values_of(here, there)
    ][1]
);

-- Half-width of the 95 % interval of ln(throughput here ÷ there), from two lists of {block, value}: from the
-- differences within blocks if they are enough, else Welch's.
CREATE OR REPLACE MACRO ratio_half_width(here, there, is_stopped_early := false) AS (
    [
        t_quantile_for(mean.df, is_stopped_early) * sqrt(mean.variance)
        FOR mean IN [
            CASE
                WHEN are_enough_differences(found.differences, found.units[2], found.units[3])
                THEN {'df': found.units[1] - 1, 'variance': found.variances[1]}
                ELSE {
                    'df': welch_df(found.variances[2], found.units[2], found.variances[3], found.units[3]),
                    'variance': found.variances[2] + found.variances[3]
                }
            END
            FOR found IN [
                {
                    'differences': lists[1],
                    'units': [len(numbers) FOR numbers IN lists],
                    'variances': [variance_of(numbers) / len(numbers) FOR numbers IN lists]
                }
                FOR lists IN values_of(here, there)
            ]
        ]
    ][1]
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

-- Value of a polynomial whose coefficients come with the highest power first. Returns one number per call.
CREATE OR REPLACE MACRO polynomial(coefficients, x) AS (
    list_reduce(coefficients::DOUBLE[], lambda total, coefficient: total * x + coefficient)
);

-- The z that a standard normal variable exceeds with probability p, 0.025 <= p <= 0.5: the middle of Acklam's rational
-- approximation, with a relative error of at most 1.2e-9 (tested).
CREATE OR REPLACE MACRO normal_quantile(p) AS (
    (0.5 - p)
    * polynomial([
        -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
        -3.066479806614716e+01, 2.506628277459239
    ], (0.5 - p) ** 2)
    / polynomial([
        -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
        -1.328068155288572e+01, 1
    ], (0.5 - p) ** 2)
);

-- Probability that a standard normal variable is below x, with an absolute error of at most 7.5e-8 (tested): Abramowitz
-- and Stegun, formula 26.2.17. Returns one number per call.
CREATE OR REPLACE MACRO normal_below(x) AS (
    CASE WHEN x < 0 THEN 0 ELSE 1 END
    + CASE WHEN x < 0 THEN 1 ELSE -1 END * exp(-x * x / 2) / sqrt(2 * pi())
    * polynomial(
        [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530, 0], 1 / (1 + 0.2316419 * abs(x))
    )
);

-- Lower end of the 95 % interval of the expectation of a count (Garwood), by Byar's approximation: at most 0.03 away.
CREATE OR REPLACE MACRO count_lo(n) AS (
    CASE WHEN n > 0 THEN n * greatest(0, 1 - 1 / (9 * n) - 1.959964 / (3 * sqrt(n))) ** 3 ELSE 0 END
);

-- Upper end of that interval.
CREATE OR REPLACE MACRO count_hi(n) AS (
    (n + 1) * (1 - 1 / (9 * (n + 1)) + 1.959964 / (3 * sqrt(n + 1))) ** 3
);

-- Probability that a run on `ranks` ranks is slow, if each rank makes it slow with probability `rate`.
CREATE OR REPLACE MACRO slow_share(rate, ranks) AS (1 - (1 - rate) ** ranks);

-- The rate per rank at which `slow_runs` of a session's runs are expected to be slow; `sizes` is a list of {ranks,
-- runs}. By Newton's method from below, which a concave function never leaves.
CREATE OR REPLACE MACRO rate_of_slow_runs(slow_runs, sizes) AS (
    list_reduce(
        list_prepend(slow_runs / list_sum([size.runs * size.ranks FOR size IN sizes]), range(30)::DOUBLE[]),
        lambda rate, step: least(0.999, rate + (
            slow_runs - list_sum([size.runs * slow_share(rate, size.ranks) FOR size IN sizes])
        ) / list_sum([size.runs * size.ranks * (1 - rate) ** (size.ranks - 1) FOR size IN sizes]))
    )
);

-- By how many of their standard deviations the median of all runs is above the mean of those that are not slow, if this
-- share of runs is slow. Shares above 0.48 count as 0.48.
CREATE OR REPLACE MACRO median_shift(slow_share) AS (
    normal_quantile(1 - 0.5 / (1 - least(slow_share, 0.48)))
);

-- Logarithm of (mean time ÷ typical time) on `ranks` ranks ÷ the same on `baseline_ranks`, if each rank makes a run
-- slow with probability `rate`, and a slow run takes `slowdown` times the typical time.
CREATE OR REPLACE MACRO log_disturbance(rate, slowdown, ranks, baseline_ranks) AS (
    ln(1 + (slowdown - 1) * slow_share(rate, ranks)) - ln(1 + (slowdown - 1) * slow_share(rate, baseline_ranks))
);

-- The true variance, of which a sample variance with df degrees of freedom was seen, if this share of the standard
-- normal distribution is below z: Wilson and Hilferty's approximation of the chi-squared distribution.
CREATE OR REPLACE MACRO variance_at(z, variance, df) AS (
    variance / greatest(0.02, 1 - 2 / (9 * df) + z * sqrt(2 / (9 * df))) ** 3
);

-- Half-width of the 95 % interval that is to be expected of a mean after k more units, if these have `new_variance`.
CREATE OR REPLACE MACRO later_half_width(variance, df, units, k, new_variance, is_stopped_early) AS (
    t_quantile_for(df + k, is_stopped_early) * sqrt((df * variance + k * new_variance) / ((df + k) * (units + k)))
);

-- Number of further units in the search for enough of them, at its n-th place: each up to 20, then 8 % more.
CREATE OR REPLACE MACRO units_at(n) AS (
    CASE WHEN n > 20 THEN ceil(20 * 1.08 ** (n - 20)) ELSE n END::BIGINT
);

-- Number of further units after which the half-width of a mean's 95 % interval is at most `wanted`, with a probability
-- of about 80 %: the unknown true variance is not above that of four out of five. From the sample variance, its degrees
-- of freedom and the number of units. Null if something is unknown or if more than 1,014 would be needed. Returns one
-- number per call.
CREATE OR REPLACE MACRO units_to_width(variance, df, units, wanted, is_stopped_early := false) AS (
    CASE WHEN wanted > 0 AND df > 0 THEN
        list_filter(
            [units_at(n) FOR n IN range(1, 72)],
            lambda k: wanted >= later_half_width(
                variance, df, units, k, variance_at(-0.8416, variance, df), is_stopped_early
            )
        )[1]
    END
);

-- Probability that after k more units the 95 % interval of a mean lies within one of the regions, given what was seen:
-- the average over 20 equally likely true variances. A region has the ends `low` and `high`, and `before`, the highest
-- end of the regions before it. Returns one number per call.
CREATE OR REPLACE MACRO decision_probability(mean, variance, df, units, k, regions, is_stopped_early) AS (
    list_avg([
        list_sum([
            greatest(0, below[1] - below[2])
            FOR below IN [
                [
                    normal_below((bound - mean) / later.change)
                    FOR bound IN [
                        region.high - later.half_width,
                        greatest(region.low + later.half_width, region.before - later.half_width)
                    ]
                ]
                FOR region IN regions
            ]
        ])
        FOR later IN [
            {
                'half_width': later_half_width(variance, df, units, k, one, is_stopped_early),
                'change': sqrt(one * (1 / units - 1 / (units + k)))  -- standard deviation of how far the mean moves
            }
            FOR one IN [
                variance_at(z, variance, df)
                FOR z IN [
                    -1.96, -1.4395, -1.1503, -0.9346, -0.7554, -0.5978, -0.4538, -0.3186, -0.1891, -0.0627,
                    0.0627, 0.1891, 0.3186, 0.4538, 0.5978, 0.7554, 0.9346, 1.1503, 1.4395, 1.96
                ]
            ]
        ]
    ])
);

-- Number of further units after which the 95 % interval of a mean lies within one of the regions (as in
-- `decision_probability`) with a probability of 80 %. Null if something is unknown or if more than 1,000 would be
-- needed. By bisection of the places of `units_at`. Returns one number per call.
CREATE OR REPLACE MACRO units_to_decide(mean, variance, df, units, regions, is_stopped_early := false) AS (
    CASE WHEN variance > 0 AND df > 0 THEN
        list_filter(
            [units_at(1 + last) FOR last IN [list_reduce(
                [0, 64, 32, 16, 8, 4, 2, 1],
                lambda place, step: place + CASE
                    WHEN 0.8 > decision_probability(
                        mean, variance, df, units, units_at(place + step), regions, is_stopped_early
                    ) THEN step
                    ELSE 0
                END
            )]],
            lambda k: k <= 1000
        )[1]
    END
);
