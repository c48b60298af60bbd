-- One row per case and placement that both sides ran: throughput of the candidate divided by that of the baseline,
-- with its interval and verdict. A side is a session id or a list of ids. Cases match by name, workload, scaling,
-- strategy and axis. Verdict: `faster` or `slower` if the interval excludes 1, also after Holm's correction over all
-- rows; `same` if two one-sided tests at 5 % show that the ratio is within 1 ± margin; `not excluded` if only the
-- uncorrected interval excludes 1; else `inconclusive`; null if a side has no ok repeat or was oversubscribed.
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
-- by name match by workload and axis; all need the same unit of throughput. If both sides name the same case, the rows
-- of the other cases are not returned, but count in Holm's correction. Unit: the session if both sides have two or more
-- with an ok repeat, and one three, else the repeat. Interval: two-sided 95 % (`log_ratio`): of the differences of
-- ln(throughput) within rounds (of two cases of a session) or sessions (of two cases of several), or Welch's t on the
-- difference of means where the sides have fewer than three such blocks in common, null unless each has two units and
-- one has three; `blocks` is then null. Rounded times of a file widen it.
CREATE OR REPLACE MACRO compare_sides(
    baseline_session, only_baseline_case, candidate_session, only_candidate_case, margin := 0.02, max_regression := 0.05
) AS TABLE
WITH baselines AS (
    SELECT
        *,
        CASE
            WHEN case_name IS DISTINCT FROM only_baseline_case THEN [case_name, scaling_mode, strategy]
        END AS kind
    FROM compare_side(
        baseline_session, CASE WHEN only_baseline_case <> only_candidate_case THEN only_baseline_case END
    )
),
candidates AS (
    SELECT
        *,
        CASE
            WHEN case_name IS DISTINCT FROM only_candidate_case THEN [case_name, scaling_mode, strategy]
        END AS kind
    FROM compare_side(
        candidate_session, CASE WHEN only_baseline_case <> only_candidate_case THEN only_candidate_case END
    )
),
paired AS (
    SELECT
        candidates.case_name, candidates.workload, candidates.throughput_unit, candidates.scaling_mode,
        candidates.strategy, candidates.axis, candidates.workers,
        candidates.world_size, candidates.nodes, candidates.ranks_per_node, candidates.threads,
        candidates.placement,
        baselines.case_name AS baseline_case,
        baselines.oversubscribed OR candidates.oversubscribed AS oversubscribed,
        rounding_error(baselines.resolution) + rounding_error(candidates.resolution) AS rounding,
        greatest(baselines.resolution, candidates.resolution) > 0.5 AS is_coarse,
        len(baselines.session_logs) AS baseline_sessions,
        len(candidates.session_logs) AS candidate_sessions,
        len(baselines.repeat_logs) AS baseline_repeats,
        len(candidates.repeat_logs) AS candidate_repeats,
        CASE
            WHEN least(baseline_sessions, candidate_sessions) > 1
                AND greatest(baseline_sessions, candidate_sessions) > 2
            THEN 'session'
            ELSE 'repeat'
        END AS unit,
        CASE unit WHEN 'session' THEN baselines.session_logs ELSE baselines.repeat_logs END AS baseline_logs,
        CASE unit WHEN 'session' THEN candidates.session_logs ELSE candidates.repeat_logs END AS candidate_logs,
        (baselines.stops_early OR candidates.stops_early) AND unit = 'repeat' AS is_stopped,
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
with_ratio AS (
    SELECT
        *,
        mean_of([element.value FOR element IN baseline_logs]) AS baseline_mean,
        mean_of([element.value FOR element IN candidate_logs]) AS candidate_mean,
        log_ratio(candidate_logs, baseline_logs, is_stopped_early := is_stopped, error := rounding) AS of_ratio
    FROM paired
),
with_interval AS (
    SELECT
        *,
        of_ratio.point AS log_ratio,
        exp(of_ratio.point) AS ratio,
        exp(of_ratio.lo) AS ratio_lo,
        exp(of_ratio.hi) AS ratio_hi,
        of_ratio.rounds AS blocks,
        of_ratio.df AS df,
        greatest(error_towards(of_ratio, -1e9, is_stopped), error_towards(of_ratio, 1e9, is_stopped)) AS se,
        CASE WHEN NOT oversubscribed THEN
            p_of_zero(of_ratio.point, error_towards(of_ratio, 0, is_stopped), of_ratio.df)
        END AS p_value,
        CASE WHEN NOT oversubscribed THEN p_of_ratio_below(of_ratio, ln(1 - max_regression), is_stopped) END
            AS regression_p,
        greatest(
            p_of_ratio_below(of_ratio, ln(1 + margin), is_stopped),
            p_not_below(
                ln(1 - margin) - of_ratio.point, error_towards(of_ratio, ln(1 - margin), is_stopped), of_ratio.df
            )
        ) AS same_p,
        CASE WHEN is_stopped THEN 0.035 ELSE 0.05 END AS level  -- as of `t_quantile_for`
    FROM with_ratio
),
with_steps AS (
    SELECT *, holm_step(p_value, true) AS p_value_step, holm_step(regression_p, true) AS regression_step
    FROM with_interval
),
with_holm AS (
    SELECT
        *,
        holm_p_of(p_value, p_value_step, true) AS p_value_holm,
        holm_p_of(regression_p, regression_step, true) AS holm_p
    FROM with_steps
),
judged AS (
    SELECT
        *,
        CASE
            WHEN oversubscribed OR ratio IS NULL THEN NULL
            WHEN ratio_lo > 1 AND p_value_holm <= 0.05 THEN 'faster'
            WHEN ratio_hi < 1 AND p_value_holm <= 0.05 THEN 'slower'
            WHEN same_p <= level OR (se = 0 AND log_ratio BETWEEN ln(1 - margin) AND ln(1 + margin)) THEN 'same'
            WHEN ratio_lo > 1 OR ratio_hi < 1 THEN 'not excluded'
            ELSE 'inconclusive'
        END AS verdict,
        -- of the rows that are not rejected yet, each must pass the smallest of Holm's levels
        0.05 / (count(p_value) OVER () - count(*) FILTER (p_value_holm <= 0.05) OVER ()) AS holm_level
    FROM with_holm
),
-- Something that all rows share, such as the machine, moves the median row.
middle AS (
    SELECT
        count(*) AS compared_rows,
        median(log_ratio) AS middle,
        sqrt(1.57 * avg(se ** 2) / count(*)) AS middle_se,  -- the variance of a median is pi / 2 times that of a mean
        median_ends(list_sort(list(log_ratio)), 0.99) AS ends
    FROM judged
    WHERE p_value IS NOT NULL
),
with_middle AS (
    SELECT
        *,
        compared_rows >= 6 AND (ends.lo > 0 OR ends.hi < 0) AND abs(middle) > greatest(0.005, 1.96 * middle_se)
            AS is_moved,
        CASE
            WHEN p_value >= 0 THEN p_of_zero(log_ratio - middle, sqrt(se ** 2 * (1 + 1.57 / compared_rows)), df)
        END AS middle_p
    FROM judged
    CROSS JOIN middle
),
with_middle_steps AS (
    SELECT *, holm_step(middle_p, true) AS middle_step FROM with_middle
),
with_others AS (
    SELECT
        *,
        holm_p_of(middle_p, middle_step, true) <= 0.05 AS is_other,
        -- stays: whether the row moved less than the middle, or not at all
        (log_ratio - middle) * sign(middle) < 0
            AND (is_other OR verdict = 'same' OR exp(middle) NOT BETWEEN ratio_lo AND ratio_hi) AS stays
    FROM with_middle_steps
),
with_words AS (
    SELECT
        *,
        is_moved AND 0.75 * compared_rows <= count(*) FILTER (
            sign(log_ratio) = sign(middle) AND NOT is_other AND NOT stays
        ) OVER () AS is_shared,
        verdict = 'slower' AND ratio_hi < 1 - max_regression AND holm_p <= 0.05 AS regression,
        CASE
            WHEN verdict IN ('inconclusive', 'not excluded')
            THEN change_of(se * detectable_effect(t_quantile_at(least(holm_level, level), df), df))
        END AS change_seen,
        count(*) OVER (PARTITION BY verdict, log_ratio < 0) AS alike_rows,
        compared_rows - count(*) FILTER (p_value IS NOT NULL AND stays) OVER () AS moved_rows
    FROM with_others
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
        baseline_repeats,              -- number of ok repeats
        candidate_repeats,             -- number of ok repeats
        unit,                          -- the independent units: session, repeat
        -- blocks: rounds or sessions within which the ratio is estimated; null: the means of both sides are compared
        blocks,
        exp(baseline_mean) AS baseline_throughput,  -- geometric mean over units
        exp(candidate_mean) AS candidate_throughput,  -- geometric mean over units
        ratio,                         -- ratio of throughputs: above 1 the candidate is faster
        ratio_lo,
        ratio_hi,
        verdict,                       -- faster, slower, same, not excluded, inconclusive
        -- verdict_text: the verdict as terminal and page show it; null: no ratio
        CASE
            WHEN oversubscribed THEN 'oversubscribed'
            WHEN regression THEN 'slower: regression'
            WHEN verdict = 'same' THEN format('same within {:.4g} %', 100.0 * margin)
            WHEN verdict = 'not excluded' AND alike_rows = 1
            THEN format('not excluded: one of {:,} rows looks {}', compared_rows, looks_text(ratio))
            WHEN verdict = 'not excluded'
            THEN format('not excluded: {:,} of {:,} rows look {}', alike_rows, compared_rows, looks_text(ratio))
            WHEN verdict = 'inconclusive' AND is_coarse THEN 'inconclusive: the times are rounded too much'
            WHEN verdict = 'inconclusive' AND p_value IS NULL AND least(baseline_repeats, candidate_repeats) = 1
            THEN 'inconclusive: a side has one ok repeat'
            WHEN verdict = 'inconclusive' AND p_value IS NULL
            THEN format('inconclusive: two {}s on each side are too few', unit)
            WHEN verdict = 'inconclusive' THEN format('inconclusive: would have seen {}', change_text(change_seen))
            ELSE verdict
        END AS verdict_text,
        -- change_seen: the least change, as a share, that would have been called faster or slower with a probability
        -- of 80 %; null with a verdict, without an interval, and above 9
        change_seen,
        compared_rows,                 -- rows with a test, over which Holm corrects, whether returned or not
        -- shared_ratio: median ratio if all rows moved alike, by something that they share; else null
        CASE WHEN is_shared THEN exp(middle) END AS shared_ratio,
        CASE WHEN is_shared THEN moved_rows END AS moved_rows,  -- rows that moved by shared_ratio or more
        CASE WHEN is_shared THEN is_other END AS differs,  -- whether the row differs from shared_ratio, after Holm
        same_p,                        -- the larger of two one-sided, that the ratio is not within 1 ± margin
        p_value,                       -- two-sided, that the ratio is 1
        p_value_holm,                  -- p_value after Holm's correction over all rows
        regression_p,                  -- one-sided, that the ratio is not below 1 - max_regression
        holm_p,                        -- regression_p after Holm's correction over all rows
        regression,                    -- slower, and below 1 - max_regression: its interval, and holm_p <= 0.05
        fingerprint_diff,              -- as returned by fingerprint_difference
        is_fingerprinted               -- whether every ok repeat of both sides has a fingerprint
    FROM with_words
    WHERE only_candidate_case IS NULL OR case_name = only_candidate_case
)
SELECT * FROM final;

-- Two-sided p-value of a difference whose true value may be zero, by Student's t. If the standard error is zero, the
-- observed difference counts as the true one. Returns one number per call.
CREATE OR REPLACE MACRO p_of_zero(difference, se, df) AS (
    CASE WHEN se = 0 THEN (difference = 0)::INTEGER ELSE 2 * t_tail(difference / nullif(se, 0), df) END
);

-- The least true difference, in standard errors, that a t above `t` shows with a probability of 80 %: from the
-- approximation 26.7.10 of Abramowitz and Stegun to the noncentral t, at most 5 % too large (tested).
CREATE OR REPLACE MACRO detectable_effect(t, df) AS (
    t * (1 - 1 / (4 * df)) + 0.8416 * sqrt(1 + t ** 2 / (2 * df))
);

-- The change of a ratio, as a share, from its logarithm; null above 9.
CREATE OR REPLACE MACRO change_of(log_ratio) AS (CASE WHEN log_ratio <= ln(10) THEN exp(log_ratio) - 1 END);

-- `slower` or `faster`, by a ratio of throughputs.
CREATE OR REPLACE MACRO looks_text(ratio) AS (CASE WHEN ratio < 1 THEN 'slower' ELSE 'faster' END);

-- A change that would have been seen, rounded up: `0.3 %`, `6 %`, `a factor of 2.4`, `nothing below a factor of 10`.
CREATE OR REPLACE MACRO change_text(change) AS (
    CASE
        WHEN change IS NULL THEN 'nothing below a factor of 10'
        WHEN change > 1 THEN format('a factor of {:.1f}', ceil(10 * (1.0 + change)) / 10)
        WHEN change > 0.01 THEN format('{:.0f} %', ceil(100.0 * change))
        ELSE format('{:.1f} %', ceil(1000.0 * change) / 10)
    END
);

-- One row per case and placement of one side of a comparison: its sessions (an id or a list of ids), limited to one
-- case unless that is null. It has ln(throughput) of both possible units: each ok repeat, and each session's mean.
-- Threads per rank distinguish placements only if they are the axis; otherwise a plan gives all ranks of a case the
-- same number.
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
        exp(avg(ln(resolution)) FILTER (throughput IS NOT NULL)) AS resolution,
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
        max(resolution) AS resolution,  -- distance between two possible times ÷ the time; null: not rounded
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
