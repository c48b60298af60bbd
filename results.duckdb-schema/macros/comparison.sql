-- One row per case and placement that both sides ran: throughput of the candidate divided by that of the baseline, with
-- its interval and verdict. A side is a session id or a list of ids. Verdict: `faster` or `slower` if the interval
-- excludes 1, `same` if it lies within 1 ± margin, else `inconclusive`; null if a side has no ok repeat or was
-- oversubscribed. Cases match by name, workload, scaling, strategy and axis.
CREATE OR REPLACE MACRO compare(baseline_session, candidate_session, margin := 0.02, max_regression := 0.05) AS TABLE
FROM compare_sides(
    baseline_session, NULL::VARCHAR, candidate_session, NULL::VARCHAR,
    margin := margin, max_regression := max_regression
);

-- One row per placement that both of two cases of a session ran, such as two settings in the same rounds: throughput
-- of the candidate divided by that of the baseline. Same columns as `compare`.
CREATE OR REPLACE MACRO compare_cases(
    session, only_baseline_case, only_candidate_case, margin := 0.02, max_regression := 0.05
) AS TABLE
FROM compare_sides(
    session, only_baseline_case, session, only_candidate_case, margin := margin, max_regression := max_regression
);

-- One row per case and placement that both sides ran: throughput of the candidate divided by that of the baseline. A
-- side is a session or a list of sessions, limited to one case unless that is null. Call `compare` or `compare_cases`
-- instead; this macro does their arithmetic. Cases match by name, workload, scaling, strategy and axis; two cases given
-- by name match by workload and axis; all need the same unit of throughput. Unit: the session if both sides have two or
-- more with an ok repeat, else the repeat. Interval: two-sided 95 %, null below two units on either side: Student's t
-- on the differences of ln(throughput) within rounds (of two cases of a session) or sessions (of two cases of several),
-- or Welch's t on the difference of means where the sides have no such blocks in common; `blocks` is then null.
CREATE OR REPLACE MACRO compare_sides(
    baseline_session, only_baseline_case, candidate_session, only_candidate_case, margin := 0.02, max_regression := 0.05
) AS TABLE
WITH baselines AS (
    SELECT *, CASE WHEN only_baseline_case IS NULL THEN [case_name, scaling_mode, strategy] END AS kind
    FROM compare_side(baseline_session, only_baseline_case)
),
candidates AS (
    SELECT *, CASE WHEN only_candidate_case IS NULL THEN [case_name, scaling_mode, strategy] END AS kind
    FROM compare_side(candidate_session, only_candidate_case)
),
paired AS (
    SELECT
        candidates.case_name, candidates.workload, candidates.throughput_unit, candidates.scaling_mode,
        candidates.strategy, candidates.axis, candidates.workers,
        candidates.world_size, candidates.nodes, candidates.ranks_per_node, candidates.threads,
        candidates.placement,
        baselines.case_name AS baseline_case,
        baselines.oversubscribed OR candidates.oversubscribed AS oversubscribed,
        baselines.stops_early OR candidates.stops_early AS stops_early,
        len(baselines.session_logs) AS baseline_sessions,
        len(candidates.session_logs) AS candidate_sessions,
        len(baselines.repeat_logs) AS baseline_repeats,
        len(candidates.repeat_logs) AS candidate_repeats,
        CASE WHEN baseline_sessions > 1 AND candidate_sessions > 1 THEN 'session' ELSE 'repeat' END AS unit,
        CASE unit WHEN 'session' THEN baselines.session_logs ELSE baselines.repeat_logs END AS baseline_logs,
        CASE unit WHEN 'session' THEN candidates.session_logs ELSE candidates.repeat_logs END AS candidate_logs,
        differences_within(candidate_logs, baseline_logs) AS differences,
        are_enough_differences(differences, len(candidate_logs), len(baseline_logs)) AS is_paired,
        fingerprint_difference(
            baselines.fingerprints, candidates.fingerprints, baselines.case_name = candidates.case_name
        ) AS fingerprint_diff,
        baselines.is_fingerprinted AND candidates.is_fingerprinted AS is_fingerprinted
    FROM baselines
    JOIN candidates
        ON baselines.kind IS NOT DISTINCT FROM candidates.kind
        AND baselines.workload = candidates.workload AND baselines.axis = candidates.axis
        AND baselines.nodes = candidates.nodes AND baselines.ranks_per_node = candidates.ranks_per_node
        AND baselines.axis_threads = candidates.axis_threads
        -- trainings/s of an import are not comparable with examples/s
        AND baselines.throughput_unit = candidates.throughput_unit
),
with_means AS (
    SELECT
        *,
        mean_of([element.value FOR element IN baseline_logs]) AS baseline_mean,
        mean_of([element.value FOR element IN candidate_logs]) AS candidate_mean
    FROM paired
),
with_moments AS (
    SELECT
        *,
        CASE WHEN is_paired THEN mean_of(differences) ELSE candidate_mean - baseline_mean END AS log_ratio,
        -- Two means with the variances a and b of m and n units; the mean of differences counts as one of them.
        CASE WHEN is_paired THEN 2 ELSE len(baseline_logs) END AS m,
        CASE WHEN is_paired THEN len(differences) ELSE len(candidate_logs) END AS n,
        CASE
            WHEN is_paired THEN 0 ELSE variance_of([element.value FOR element IN baseline_logs])
        END AS baseline_variance,
        CASE
            WHEN is_paired THEN variance_of(differences)
            ELSE variance_of([element.value FOR element IN candidate_logs])
        END AS candidate_variance,
        baseline_variance / m AS a,
        candidate_variance / n AS b
    FROM with_means
),
with_welch AS (
    SELECT
        *,
        sqrt(a + b) AS se,
        welch_df(a, m, b, n) AS welch_df,
        CASE WHEN is_paired THEN n ELSE least(m, n) END AS pairs
    FROM with_moments
),
with_tails AS (
    SELECT
        *,
        exp(log_ratio) AS ratio,
        log_ratio - ln(1 - max_regression) AS above_limit,  -- below 0 it is a regression
        t_quantile_for(welch_df, stops_early AND unit = 'repeat') * se AS half_width,
        t_tail(log_ratio / nullif(se, 0), welch_df) AS tail,
        p_not_below(log_ratio - ln(1 - max_regression), se, welch_df) AS limit_p
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
        baseline_case,                 -- its counterpart: has another name only if two cases are compared
        workload, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        throughput_unit,               -- examples/s, trainings/s: the same on both sides
        placement,
        oversubscribed,                -- on either side
        baseline_sessions,             -- number of sessions with an ok repeat
        candidate_sessions,            -- number of sessions with an ok repeat
        baseline_repeats,              -- number of ok repeats, slow ones included
        candidate_repeats,             -- number of ok repeats, slow ones included
        unit,                          -- the independent units: session, repeat
        -- blocks: rounds or sessions within which the ratio is estimated; null: the means of both sides are compared
        CASE WHEN is_paired THEN n END AS blocks,
        exp(baseline_mean) AS baseline_throughput,  -- geometric mean over units
        exp(candidate_mean) AS candidate_throughput,  -- geometric mean over units
        ratio,                         -- ratio of throughputs: above 1 the candidate is faster
        ratio_lo,
        ratio_hi,
        verdict,                       -- faster, slower, same, inconclusive
        -- repeats_needed: further units on each side for a verdict with a probability of 80 %; 0 if decided, null
        -- beyond 1,000
        CASE
            WHEN verdict <> 'inconclusive' THEN 0
            WHEN verdict = 'inconclusive' THEN units_to_decide(
                log_ratio, se ** 2 * pairs, welch_df, pairs,
                [
                    {'low': -1e3, 'high': 0, 'before': -1e3},
                    {'low': ln(1 - margin), 'high': ln(1 + margin), 'before': 0},
                    {'low': 0, 'high': 1e3, 'before': ln(1 + margin)}
                ],
                is_stopped_early := stops_early AND unit = 'repeat'
            )
        END AS repeats_needed,
        p_value,                       -- two-sided, that the ratio is 1
        p_value_holm,                  -- p_value after Holm's correction over all rows
        regression_p,                  -- one-sided, that the ratio is not below 1 - max_regression
        holm_p,                        -- regression_p after Holm's correction over all rows
        -- regression: whether the interval lies below 1 - max_regression, also over all rows at 5 %
        ratio_hi < 1 - max_regression AND holm_p <= 0.05 AS regression,
        fingerprint_diff,              -- as returned by fingerprint_difference
        is_fingerprinted               -- whether every ok repeat of both sides has a fingerprint
    FROM with_holm
)
SELECT * FROM final;

-- One row per case and placement of one side of a comparison: its sessions (an id or a list of ids), limited to one
-- case unless that is null. It has ln(throughput) of both possible units: each ok repeat, and each session's mean. Slow
-- runs (`slow_runs`) count: a change that makes some runs slow is a change. Threads per rank distinguish placements
-- only if they are the axis; otherwise a plan gives all ranks of a case the same number.
CREATE OR REPLACE MACRO compare_side(side_sessions, only_case) AS TABLE
WITH last_runs AS (
    SELECT
        *, CASE WHEN axis = 'threads' THEN threads ELSE 0 END AS axis_threads, runs.fingerprint AS made_by
    FROM run_summary
    JOIN (SELECT session_id, run_id, attempt, fingerprint FROM runs) AS runs USING (session_id, run_id, attempt)
    WHERE list_contains(session_list(side_sessions), session_id) AND (only_case IS NULL OR case_name = only_case)
),
sessions_of_it AS (
    SELECT
        session_id, case_name, workload, throughput_unit, scaling_mode, strategy, axis, nodes, ranks_per_node,
        axis_threads,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        min(threads) AS threads,
        bool_or(oversubscribed) AS oversubscribed,
        bool_or(stops_early) AS stops_early,
        list({'block': session_id || ' ' || round, 'value': ln(throughput)} ORDER BY repeat)
            FILTER (throughput IS NOT NULL) AS logs,
        list(DISTINCT made_by::VARCHAR) FILTER (throughput IS NOT NULL AND made_by::VARCHAR <> '{}') AS fingerprints,
        bool_and(coalesce(made_by::VARCHAR <> '{}', false)) FILTER (throughput IS NOT NULL) AS is_fingerprinted
    FROM last_runs
    GROUP BY
        session_id, case_name, workload, throughput_unit, scaling_mode, strategy, axis, nodes, ranks_per_node,
        axis_threads
),
final AS (
    SELECT
        case_name, workload, throughput_unit, scaling_mode, strategy, axis, nodes, ranks_per_node, axis_threads,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        min(threads) AS threads,
        placement_of(nodes, ranks_per_node, axis, min(threads)) AS placement,
        -- axis_threads: threads per rank if they are the axis, else 0
        bool_or(oversubscribed) AS oversubscribed,
        bool_or(stops_early) AS stops_early,  -- whether a session added repeats until it was sure
        -- repeat_logs: {block, value} of each ok repeat: its session and round, and its ln(throughput)
        -- session_logs: the same of each session: the mean over its ok repeats
        coalesce(flatten(list(logs ORDER BY session_id) FILTER (logs IS NOT NULL)), []) AS repeat_logs,
        coalesce(
            list({'block': session_id, 'value': mean_of([element.value FOR element IN logs])} ORDER BY session_id)
                FILTER (logs IS NOT NULL),
            []
        ) AS session_logs,
        -- fingerprints: of the ok repeats, each once per session, as JSON text
        coalesce(flatten(list(fingerprints) FILTER (fingerprints IS NOT NULL)), []) AS fingerprints,
        bool_and(is_fingerprinted) AS is_fingerprinted  -- whether every ok repeat has a fingerprint
    FROM sessions_of_it
    GROUP BY case_name, workload, throughput_unit, scaling_mode, strategy, axis, nodes, ranks_per_node, axis_threads
)
SELECT * FROM final;

-- One row per case that both sides ran: the settings that differ between its first ok runs, as `settings_difference`
-- lists them; null if none does. A side is a session or a list of sessions.
CREATE OR REPLACE MACRO compare_settings(baseline_session, candidate_session) AS TABLE
WITH first_configs AS (
    SELECT
        case_name,
        arg_min(config, (session_id, run_id)) FILTER (list_contains(session_list(baseline_session), session_id))
            AS baseline_config,
        arg_min(config, (session_id, run_id)) FILTER (list_contains(session_list(candidate_session), session_id))
            AS candidate_config
    FROM runs
    WHERE status = 'ok'
    GROUP BY case_name
)
SELECT case_name, settings_difference(baseline_config, candidate_config) AS settings
FROM first_configs
WHERE baseline_config IS NOT NULL AND candidate_config IS NOT NULL;

-- List of the session ids in an argument, which is one id or a list of ids. It goes through JSON because a macro
-- argument has no type until the call.
CREATE OR REPLACE MACRO session_list(sessions) AS (
    CASE json_type(to_json(sessions))
        WHEN 'ARRAY' THEN from_json(to_json(sessions), '["VARCHAR"]')
        ELSE [to_json(sessions) ->> '$']
    END
);
