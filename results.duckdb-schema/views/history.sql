-- One row per suite, case, placement and session that ran it: its figures, and their comparison with an earlier
-- session. A line of history is a case (with its workload, scaling, strategy, axis and unit of throughput) at a
-- placement (threads count if they are the axis), in one suite (quick or not; measured, imported or published)
-- on one kind of device (cpu, cuda). Within a line, an experiment is a set of points with equal settings and threads on
-- the same device model. The previous session is the last earlier one with an ok repeat in the same experiment, not
-- oversubscribed. If there is none, it is the last oversubscribed one, or else the last one of the line with an ok
-- repeat; the two are then not comparable and there is no verdict. Facts that neither side has, as with imports, count
-- as equal. Intervals: two-sided 95 % over repeats; for the ratio Welch
-- on the difference of mean ln(throughput), because two sessions have no round in common; null below two repeats on
-- either side. They do not include differences between sessions (nodes, neighbours, temperature); with enough sessions,
-- `usual_lo` and `usual_hi` show how large these are.
CREATE OR REPLACE VIEW history AS
WITH ordered_sessions AS (
    SELECT
        session_id, created_at, quick,
        imported IS NOT NULL AS is_imported,
        row_number() OVER (PARTITION BY suite ORDER BY created_at, session_id) AS session_order
    FROM sessions
),
-- Numbers replace long texts, in the same order: windows over numbers are fast.
lines AS (
    SELECT
        line_facts,
        row_number() OVER (ORDER BY line_facts) AS line_id,
        row_number() OVER (PARTITION BY line_facts[1] ORDER BY line_facts) AS line_number  -- of the suite
    FROM history_points
    GROUP BY line_facts
    -- Without timed steps there is no history; measurements of the machine have their own views.
    HAVING bool_or(throughput IS NOT NULL)
),
experiments AS (
    SELECT experiment_facts, row_number() OVER (ORDER BY experiment_facts) AS experiment_id
    FROM history_points
    GROUP BY experiment_facts
),
points AS MATERIALIZED (
    SELECT
        history_points.* EXCLUDE (line_facts, fingerprints, config),
        created_at, quick, is_imported, session_order, line_id, line_number, experiment_id,
        row_number() OVER () AS point,
        0.02 AS margin  -- of ratios: `same` is within 1 ± margin, a regression is below 1 - margin
    FROM history_points
    JOIN ordered_sessions USING (session_id)
    JOIN lines USING (line_facts)
    JOIN experiments USING (experiment_facts)
),
with_earlier AS (
    SELECT
        point, line_id, experiment_id,
        CASE WHEN repeats > 0 THEN point END AS this,
        CASE WHEN NOT oversubscribed THEN this END AS comparable,
        coalesce(
            lag(comparable IGNORE NULLS) OVER same_experiment,
            lag(this IGNORE NULLS) OVER same_experiment,
            lag(this IGNORE NULLS) OVER (PARTITION BY line_id ORDER BY session_order, threads)
        ) AS earlier,
        -- Only sessions in which the experiment is known; rows that are not ok have no settings.
        CASE WHEN repeats > 0 THEN min(session_order) OVER (PARTITION BY line_id, experiment_id) END AS began
    FROM points
    WINDOW same_experiment AS (PARTITION BY line_id, experiment_id ORDER BY session_order)
),
numbered AS (
    SELECT
        point, earlier,
        CASE WHEN this IS NOT NULL THEN
            dense_rank() OVER (PARTITION BY line_id ORDER BY began NULLS LAST, experiment_id)
        END AS experiment
    FROM with_earlier
),
earlier_points AS (
    SELECT
        point AS earlier,
        {
            'session_id': session_id, 'created_at': created_at, 'threads': threads, 'settings': settings,
            'experiment_facts': experiment_facts, 'repeats': repeats, 'throughput': throughput,
            'log_variance': log_variance, 'stops_early': stops_early, 'oversubscribed': oversubscribed,
            'fingerprints_digest': fingerprints_digest
        } AS previous
    FROM points
),
paired AS MATERIALIZED (
    SELECT
        points.*, experiment,
        CASE WHEN repeats > 0 AND previous.session_id <> points.session_id THEN previous END AS previous
    FROM points
    JOIN numbered USING (point)
    LEFT JOIN earlier_points USING (earlier)
),
-- Documents are compared only if they differ, each pair once.
other_documents AS (
    SELECT DISTINCT previous.fingerprints_digest AS baseline, fingerprints_digest AS candidate
    FROM paired
    WHERE previous.fingerprints_digest <> fingerprints_digest
),
documents AS (
    SELECT fingerprints_digest, any_value(fingerprints) AS fingerprints
    FROM history_points
    WHERE fingerprints_digest IN (SELECT baseline FROM other_documents UNION SELECT candidate FROM other_documents)
    GROUP BY fingerprints_digest
),
with_facts AS (
    SELECT
        baseline, candidate,
        from_json(
            fingerprint_difference(baselines.fingerprints, candidates.fingerprints, true),
            '[{"key":"VARCHAR","class":"VARCHAR","baseline":"VARCHAR","candidate":"VARCHAR"}]'
        ) AS facts
    FROM other_documents
    JOIN documents AS baselines ON baselines.fingerprints_digest = baseline
    JOIN documents AS candidates ON candidates.fingerprints_digest = candidate
),
with_code AS (
    SELECT *, code_difference(facts) AS other_code, training_code_difference(facts) AS other_training FROM with_facts
),
documents_differences AS (
    SELECT
        baseline, candidate, other_code,
        [
            {
                'key': fact.key, 'class': fact.class,
                -- null for what other_code and other_training say
                'words': CASE
                    WHEN is_user_code(fact) OR (other_code IS NOT NULL AND fact.key = 'user_commit') THEN NULL
                    WHEN fact.key = 'training_code' AND other_training IS NOT NULL THEN other_training
                    WHEN fact.key IN ('commit', 'scalebench') AND other_training IS NOT NULL THEN NULL
                    WHEN starts_with(fact.key, 'content of ') THEN
                        'code: only ' || if(fact.baseline IS NULL, 'this', 'the earlier') || ' session has '
                        || fact.key[12:]
                    ELSE fact.key || ': ' || fact_text(fact.baseline) || ' → ' || fact_text(fact.candidate)
                END
            }
            FOR fact IN facts
        ] AS documents_differ_in
    FROM with_code
),
with_other_settings AS (
    SELECT point, session_id, case_name, nodes, ranks_per_node, threads, previous
    FROM paired
    WHERE previous IS NOT NULL AND settings IS DISTINCT FROM previous.settings
),
configs AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, config
    FROM history_points
    WHERE config IS NOT NULL AND session_id IN (
        SELECT session_id FROM with_other_settings UNION SELECT previous.session_id FROM with_other_settings
    )
),
settings_differences AS (
    SELECT point, settings_difference(previous_configs.config, configs.config) AS other_settings
    FROM with_other_settings
    JOIN configs USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN configs AS previous_configs
        ON previous_configs.session_id = previous.session_id
        AND previous_configs.case_name = with_other_settings.case_name
        AND previous_configs.nodes = with_other_settings.nodes
        AND previous_configs.ranks_per_node = with_other_settings.ranks_per_node
        AND previous_configs.threads = previous.threads
),
with_differences AS (
    SELECT
        paired.*, other_code,
        ln(throughput / previous.throughput) AS log_ratio,
        log_variance / repeats AS a,
        previous.log_variance / previous.repeats AS b,
        oversubscribed OR previous.oversubscribed AS is_oversubscribed,
        CASE WHEN previous IS NOT NULL THEN [
            ['settings', 'device', 'threads'][place]
            FOR place IN [1, 2, 3] IF experiment_facts[place] IS DISTINCT FROM previous.experiment_facts[place]
        ] END AS unlike,
        CASE WHEN previous.fingerprints_digest = fingerprints_digest THEN [] ELSE documents_differ_in END
            AS differences
    FROM paired
    LEFT JOIN documents_differences
        ON baseline = previous.fingerprints_digest AND candidate = fingerprints_digest
),
with_moments AS (
    SELECT
        *,
        len(unlike) = 0 AS is_alike,
        [fact FOR fact IN differences IF fact.class = 'must_equal'] AS must_equal,
        -- of two sessions between which nothing relevant changed
        CASE WHEN is_alike AND len(must_equal) = 0 AND NOT is_oversubscribed THEN log_ratio ** 2 END AS unchanged_square
    FROM with_differences
),
with_usual AS (
    SELECT
        *,
        count(unchanged_square) OVER before AS unchanged_pairs,
        avg(unchanged_square) OVER before AS mean_square
    FROM with_moments
    WINDOW before AS (
        PARTITION BY line_id, experiment_id ORDER BY session_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
with_welch AS (
    SELECT
        *,
        [fact FOR fact IN differences IF fact.class <> 'must_equal'] AS worth_knowing,
        sqrt(a + b) AS se,
        welch_df(a, repeats, b, previous.repeats) AS welch_df,
        log_ratio - ln(1 - margin) AS above_limit,  -- below 0 it is a regression
        ln(1 + margin) - log_ratio AS below_gain  -- below 0 it is an improvement
    FROM with_usual
),
with_half_widths AS (
    SELECT *, t_quantile_for(welch_df, stops_early OR previous.stops_early) * se AS ratio_half_width
    FROM with_welch
),
with_intervals AS (
    SELECT
        *,
        exp(log_ratio) AS ratio,
        exp(log_ratio - ratio_half_width) AS ratio_lo,
        exp(log_ratio + ratio_half_width) AS ratio_hi,
        -- Successive pairs share a session: k of them count as much as 2 k² / (3 k - 1) independent ones.
        CASE WHEN unchanged_pairs >= 3 THEN 2 * unchanged_pairs ** 2 / (3 * unchanged_pairs - 1) END AS usual_df,
        CASE WHEN unchanged_pairs >= 3 THEN sqrt(mean_square) END AS usual_se
    FROM with_half_widths
),
with_tails AS (
    SELECT
        *,
        CASE
            WHEN is_alike AND NOT is_oversubscribed THEN ratio_verdict(ratio, ratio_lo, ratio_hi, margin)
        END AS verdict,
        t_quantile(usual_df) * usual_se AS usual_half_width,
        p_not_below(above_limit, se, welch_df) AS repeats_p,
        p_not_below(above_limit, usual_se, usual_df) AS sessions_p,
        p_not_below(below_gain, se, welch_df) AS gain_repeats_p,
        p_not_below(below_gain, usual_se, usual_df) AS gain_sessions_p
    FROM with_intervals
),
with_p AS (
    SELECT
        *,
        CASE WHEN verdict IS NOT NULL THEN greatest(repeats_p, coalesce(sessions_p, repeats_p)) END AS regression_p,
        CASE WHEN verdict IS NOT NULL THEN greatest(gain_repeats_p, coalesce(gain_sessions_p, gain_repeats_p)) END
            AS gain_p
    FROM with_tails
),
with_steps AS (
    SELECT
        *,
        holm_step(regression_p, session_id) AS regression_step,
        holm_step(gain_p, session_id) AS gain_step
    FROM with_p
),
with_holm AS (
    SELECT
        *,
        holm_p_of(regression_p, regression_step, session_id) AS holm_p,
        holm_p_of(gain_p, gain_step, session_id) AS gain_holm_p,
        exp(-usual_half_width) AS usual_lo,
        exp(usual_half_width) AS usual_hi
    FROM with_steps
    LEFT JOIN settings_differences USING (point)
),
final AS (
    SELECT
        suite, case_name, workload, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, device_type, device_name,
        quick,  -- whether the suite's quick section was merged in; such sessions are a separate line
        is_imported,                   -- whether `bench import` made the session; such sessions are a separate line
        session_id,
        created_at,                    -- of the session, UTC
        session_order,                 -- 1-based number among all sessions of the suite, by created_at
        line_number AS line,           -- 1-based number within the suite; sessions are compared within a line
        -- experiment: 1-based within the line, by first session; equal: same settings, threads and device model
        experiment,
        oversubscribed,
        runs,                          -- number of last attempts with any status
        repeats, throughput,
        throughput_lo,
        throughput_hi,
        throughput_unit, is_baseline, efficiency,
        efficiency_lo,
        efficiency_hi,
        step_ms,                       -- geometric mean over ok repeats of a run's median step
        step_ms_lo,
        step_ms_hi,
        previous.session_id AS previous_session_id,  -- session that it is compared with; null for the first
        previous.created_at AS previous_created_at,  -- creation time of that session
        previous.repeats AS previous_repeats,        -- ok repeats of that session that are not slow
        previous.throughput AS previous_throughput,  -- of that session: geometric mean over these repeats
        ratio,                         -- throughput ÷ that of the previous session
        ratio_lo,
        ratio_hi,
        is_alike,  -- whether the previous session ran the same experiment; null without a previous session
        unlike,                        -- what makes it another experiment: settings, device, threads
        other_settings,                -- settings that differ from the previous session's: `global_batch: 64 → 256`
        -- verdict: faster, slower, same, inconclusive, like `compare` with 2 %; null: not alike, or oversubscribed
        verdict,
        -- changed: must_equal keys of the fingerprint that differ from the previous session's; null: unknown
        [fact.key FOR fact IN must_equal] AS changed,
        -- changes: the same in words, `torch: 2.14.0 → 2.15.0`, with files of the user's code and their commit as one;
        -- settings are in other_settings
        CASE WHEN must_equal IS NOT NULL THEN
            joined([
                words FOR words IN ([other_code] || [fact.words FOR fact IN must_equal IF fact.key <> 'settings'])
                IF words IS NOT NULL
            ], '; ')
        END AS changes,
        -- also_changed: worth_knowing keys that differ, and keys that one side lacks
        [fact.key FOR fact IN worth_knowing] AS also_changed,
        -- also_changes: the same in words
        joined([fact.words FOR fact IN worth_knowing IF fact.words IS NOT NULL], '; ') AS also_changes,
        unchanged_pairs,  -- earlier sessions of the experiment with the same fingerprint as their previous one
        -- The spread of the ratio between two sessions without a change, from these pairs; null below three of them.
        usual_lo,  -- lower end of the ratios that are usual without a change: 95 %, from unchanged_pairs
        usual_hi,                      -- upper end of these ratios; null below three unchanged_pairs
        -- regression_p: one-sided, that the ratio is not below 1 - 2 %: the larger of repeats' and unchanged_pairs'
        regression_p,
        holm_p,                        -- regression_p after Holm's correction over all rows of the session
        -- regression: slower, and both ratio_hi and ratio × usual_hi, where known, below 1 - 2 %; holm_p at most 5 %
        coalesce(
            verdict = 'slower' AND ratio_hi < 1 - margin AND ratio * coalesce(usual_hi, 1) < 1 - margin
                AND holm_p <= 0.05,
            false
        ) AS regression,
        -- improvement: faster, both ratio_lo and ratio × usual_lo, where known, above 1 + 2 %; after Holm's correction
        -- of its own p at most 5 %
        coalesce(
            verdict = 'faster' AND ratio_lo > 1 + margin AND ratio * coalesce(usual_lo, 1) > 1 + margin
                AND gain_holm_p <= 0.05,
            false
        ) AS improvement
    FROM with_holm
)
SELECT * FROM final;
