-- One row per suite, case, placement and session that ran it: its figures, and their comparison with an earlier
-- session. A line of history is a case (with its workload, scaling, strategy, axis and unit of throughput) at a
-- placement (threads count if they are the axis), in one suite (quick or not; measured, imported or published)
-- on one kind of device (cpu, cuda). Within a line, an experiment is a set of points with equal settings and threads on
-- the same device model. The previous session is the last earlier one with an ok repeat in the same experiment, neither
-- oversubscribed nor with an odd run. If there is none, it is the last one that is, or else the last one of the line
-- with an ok repeat; the two are then not comparable and there is no verdict. Facts that neither side has, as with
-- imports, count as equal. Intervals: two-sided 95 % over repeats; for the ratio that of `log_ratio` without rounds,
-- which two sessions do not have in common. They do not include differences between sessions (nodes, neighbours,
-- temperature). history_changes does: it decides what became slower or faster.
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
        0.02 AS margin  -- of ratios: `same` is within 1 ± margin
    FROM history_points
    JOIN ordered_sessions USING (session_id)
    JOIN lines USING (line_facts)
    JOIN experiments USING (experiment_facts)
),
with_earlier AS (
    SELECT
        point, line_id, experiment_id,
        CASE WHEN repeats > 0 THEN point END AS this,
        CASE WHEN NOT oversubscribed AND odd_runs = 0 THEN this END AS comparable,
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
            'logs': logs, 'rounding': rounding, 'stops_early': stops_early,
            'is_judged': NOT oversubscribed AND odd_runs = 0,
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
        log_ratio(
            logs, previous.logs,
            is_stopped_early := stops_early OR previous.stops_early, error := rounding + previous.rounding
        ) AS of_ratio,
        NOT oversubscribed AND odd_runs = 0 AND previous.is_judged AS is_judged,
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
with_facts_by_class AS (
    SELECT
        *,
        len(unlike) = 0 AS is_alike,
        [fact FOR fact IN differences IF fact.class = 'must_equal'] AS must_equal,
        [fact FOR fact IN differences IF fact.class <> 'must_equal'] AS worth_knowing
    FROM with_differences
    LEFT JOIN settings_differences USING (point)
),
with_intervals AS (
    SELECT
        *,
        exp(of_ratio.point) AS ratio,
        exp(of_ratio.lo) AS ratio_lo,
        exp(of_ratio.hi) AS ratio_hi
    FROM with_facts_by_class
),
changed AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, direction, returns, level_first_order, level_last_order,
        first_order, ratio AS level_ratio, ratio_lo AS level_ratio_lo, ratio_hi AS level_ratio_hi
    FROM history_changes
    WHERE case_name IS NOT NULL
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
        odd_runs,                      -- number of ok repeats in odd_runs; with one, the session is not judged
        runs,                          -- number of last attempts with any status
        repeats, throughput,
        throughput_lo,
        throughput_hi,
        throughput_unit, is_baseline, efficiency,
        efficiency_lo,
        efficiency_hi,
        step_ms,                       -- of the median run, a run's median step
        step_ms_lo,
        step_ms_hi,
        previous.session_id AS previous_session_id,  -- session that it is compared with; null for the first
        previous.created_at AS previous_created_at,  -- creation time of that session
        previous.repeats AS previous_repeats,        -- ok repeats of that session
        previous.throughput AS previous_throughput,  -- of that session
        ratio,                         -- throughput ÷ that of the previous session
        ratio_lo,
        ratio_hi,
        is_alike,  -- whether the previous session ran the same experiment; null without a previous session
        unlike,                        -- what makes it another experiment: settings, device, threads
        other_settings,                -- settings that differ from the previous session's: `global_batch: 64 → 256`
        -- verdict: slower, faster: its level changed; same: the interval of the ratio is within 1 ± 2 %; else
        -- inconclusive; null: not alike, oversubscribed, or with an odd run
        CASE
            WHEN direction IS NOT NULL THEN direction
            WHEN NOT is_alike OR NOT is_judged OR ratio IS NULL THEN NULL
            WHEN ratio_lo >= 1 - margin AND ratio_hi <= 1 + margin THEN 'same'
            ELSE 'inconclusive'
        END AS verdict,
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
        -- regression: slower than its level of earlier sessions (history_changes), in excess of what all cases share
        coalesce(direction = 'slower', false) AS regression,
        coalesce(direction = 'faster', false) AS improvement,  -- faster than its level, likewise
        level_ratio,                   -- throughput of the sessions from first_order on ÷ level; null: no change
        level_ratio_lo,
        level_ratio_hi,
        level_first_order,             -- session_order of the oldest session of the level
        level_last_order,              -- session_order of the newest session of the level
        first_order,                   -- session_order of the first session at the new level
        returns                        -- whether the change goes back to the level before the last change
    FROM with_intervals
    LEFT JOIN changed USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
