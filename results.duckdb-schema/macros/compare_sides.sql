-- One row per case and placement that both sides ran: throughput of the candidate over that of the baseline. A side is
-- a session or a list of them, and of it one case, or every case where that is null. `compare` and `compare_cases` are
-- what one calls; all arithmetic is here. Cases match by name, workload, scaling and strategy, two that are named by
-- workload alone, all by the unit of throughput. Unit: the session where both sides have two or more with an ok repeat,
-- else the repeat. Interval: two-sided 95 %, Welch on the difference of mean ln(throughput); null below two units on
-- either side.
CREATE OR REPLACE MACRO compare_sides(
    baseline_session, only_baseline_case, candidate_session, only_candidate_case, margin := 0.02, max_regression := 0.05
) AS TABLE
WITH baselines AS (
    SELECT *, CASE WHEN only_baseline_case IS NULL THEN [case_name, scaling, strategy] END AS kind
    FROM compare_side(baseline_session, only_baseline_case)
),
candidates AS (
    SELECT *, CASE WHEN only_candidate_case IS NULL THEN [case_name, scaling, strategy] END AS kind
    FROM compare_side(candidate_session, only_candidate_case)
),
paired AS (
    SELECT
        candidates.case_name, candidates.workload, candidates.throughput_unit, candidates.scaling, candidates.strategy,
        candidates.axis, candidates.workers,
        candidates.world_size, candidates.nodes, candidates.ranks_per_node, candidates.threads,
        candidates.placement,
        baselines.case_name AS baseline_case,
        baselines.oversubscribed OR candidates.oversubscribed AS oversubscribed,
        len(baselines.session_logs) AS baseline_sessions,
        len(candidates.session_logs) AS candidate_sessions,
        len(baselines.repeat_logs) AS baseline_repeats,
        len(candidates.repeat_logs) AS candidate_repeats,
        CASE WHEN baseline_sessions > 1 AND candidate_sessions > 1 THEN 'session' ELSE 'repeat' END AS unit,
        CASE unit WHEN 'session' THEN baselines.session_logs ELSE baselines.repeat_logs END AS baseline_logs,
        CASE unit WHEN 'session' THEN candidates.session_logs ELSE candidates.repeat_logs END AS candidate_logs,
        fingerprint_difference(
            baselines.fingerprints, candidates.fingerprints, baselines.case_name = candidates.case_name
        ) AS fingerprint_diff
    FROM baselines
    JOIN candidates
        ON baselines.kind IS NOT DISTINCT FROM candidates.kind
        AND baselines.workload = candidates.workload AND baselines.axis = candidates.axis
        AND baselines.nodes = candidates.nodes AND baselines.ranks_per_node = candidates.ranks_per_node
        AND baselines.axis_threads = candidates.axis_threads
        -- trainings/s of an import are no examples/s
        AND baselines.throughput_unit = candidates.throughput_unit
),
with_moments AS (
    SELECT
        *,
        mean_of(candidate_logs) - mean_of(baseline_logs) AS log_ratio,
        len(baseline_logs) AS m,
        len(candidate_logs) AS n,
        variance_of(baseline_logs) AS baseline_variance,
        variance_of(candidate_logs) AS candidate_variance,
        baseline_variance / m AS a,
        candidate_variance / n AS b
    FROM paired
),
with_welch AS (
    SELECT
        *,
        sqrt(a + b) AS se,
        welch_df(a, m, b, n) AS welch_df
    FROM with_moments
),
with_tails AS (
    SELECT
        *,
        exp(log_ratio) AS ratio,
        log_ratio - ln(1 - max_regression) AS above_limit,  -- below 0 it is a regression
        t_quantile(welch_df) * se AS half_width,
        t_tail(log_ratio / nullif(se, 0), welch_df) AS tail,
        p_not_below(above_limit, se, welch_df) AS limit_p
    FROM with_welch
),
with_interval AS (
    SELECT
        *,
        exp(log_ratio - half_width) AS ratio_lo,
        exp(log_ratio + half_width) AS ratio_hi,
        CASE
            WHEN oversubscribed THEN NULL
            WHEN se = 0 THEN (log_ratio = 0)::INTEGER
            ELSE 2 * tail
        END AS p_value,
        CASE WHEN NOT oversubscribed THEN limit_p END AS regression_p
    FROM with_tails
),
judged AS (
    SELECT
        *,
        CASE WHEN NOT oversubscribed THEN ratio_verdict(ratio, ratio_lo, ratio_hi, margin) END AS verdict
    FROM with_interval
),
with_steps AS (
    SELECT *, holm_step(p_value, true) AS p_value_step, holm_step(regression_p, true) AS regression_step FROM judged
),
with_holm AS (
    SELECT
        *,
        holm_p_of(p_value, p_value_step, true) AS p_value_holm,
        holm_p_of(regression_p, regression_step, true) AS holm_p
    FROM with_steps
),
final AS (
    SELECT
        case_name,                     -- of the candidate
        baseline_case,                 -- its counterpart: another name only where two cases are compared
        workload, scaling, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        throughput_unit,               -- examples/s, trainings/s: the same on both sides
        placement,
        oversubscribed,                -- on either side
        baseline_sessions,             -- that have an ok repeat
        candidate_sessions,            -- that have an ok repeat
        baseline_repeats,              -- that are ok
        candidate_repeats,             -- that are ok
        unit,                          -- what is independent of each other: session, repeat
        exp(mean_of(baseline_logs)) AS baseline_throughput,  -- geometric mean over units
        exp(mean_of(candidate_logs)) AS candidate_throughput,  -- geometric mean over units
        ratio,                         -- of throughputs: above 1 the candidate is faster
        ratio_lo,
        ratio_hi,
        verdict,                       -- faster, slower, same, inconclusive
        -- repeats_needed: further units on each side until the verdict is another; 0 where it is, null beyond 1,000
        CASE
            WHEN verdict <> 'inconclusive' THEN 0
            WHEN verdict = 'inconclusive' THEN more_units(
                baseline_variance, m, candidate_variance, n,
                -- the half-width at which the interval excludes 1, or lies within the margin
                greatest(abs(log_ratio), least(ln(1 + margin) - log_ratio, log_ratio - ln(1 - margin)))
            )
        END AS repeats_needed,
        p_value,                       -- two-sided, that the ratio is 1
        p_value_holm,                  -- the same after Holm over all rows
        regression_p,                  -- one-sided, that the ratio is not below 1 - max_regression
        holm_p,                        -- the same after Holm over all rows
        -- regression: the interval lies below 1 - max_regression, and that holds over all rows at 5 %
        ratio_hi < 1 - max_regression AND holm_p <= 0.05 AS regression,
        fingerprint_diff               -- as fingerprint_difference gives it
    FROM with_holm
)
SELECT * FROM final;
