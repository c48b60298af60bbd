-- One row per case, placement and session of a suite, the oldest session first: its figures, their ratios to those of
-- the previous session, and what changed since. `changes_then` is what changed in the first session at a new level. `relative` is throughput over that of the experiment's first session.
WITH rows_of_suite AS (
    SELECT
        *,
        count(DISTINCT quick) OVER () > 1 AS has_quick_and_full,
        count(DISTINCT is_imported) OVER () > 1 AS has_imports,
        count(DISTINCT device_type) OVER () > 1 AS has_devices,
        first_value(throughput IGNORE NULLS) OVER (PARTITION BY line, experiment ORDER BY session_order) AS first
    FROM history
    WHERE suite = $suite
),
named AS (
    SELECT
        *,
        concat_ws(
            ', ',
            CASE WHEN has_quick_and_full AND quick THEN 'quick' END,
            CASE WHEN has_imports AND is_imported THEN 'imported' END,
            CASE WHEN has_devices THEN device_type END
        ) AS variant
    FROM rows_of_suite
)
SELECT
    case_name, case_name || CASE WHEN variant <> '' THEN ' (' || variant || ')' ELSE '' END AS panel,
    placement, workers, session_order, session_id, strftime(created_at, '%Y-%m-%d %H:%M') AS began, line, experiment,
    runs, repeats, throughput, throughput_lo, throughput_hi, throughput_unit,
    throughput / first AS relative, throughput_lo / first AS relative_lo, throughput_hi / first AS relative_hi,
    scaling_mode, is_baseline, oversubscribed, efficiency, efficiency_lo, efficiency_hi, step_ms, step_ms_lo,
    step_ms_hi, previous_session_id, previous_throughput, ratio, ratio_lo,
    ratio_hi, is_alike, array_to_string(unlike, ', ') AS unlike, odd_runs, verdict, regression, improvement,
    level_ratio, level_ratio_lo, level_ratio_hi, level_first_order, level_last_order, first_order, returns, changes,
    changes_then,
    other_settings, nullif(also_changes, '') AS also_changes,
    nullif(concat_ws('; ', CASE WHEN NOT is_alike THEN other_settings END, nullif(changes, '')), '') AS marked
FROM named
LEFT JOIN (
    SELECT line, placement, experiment, session_order AS first_order, changes AS changes_then FROM named
) AS firsts USING (line, placement, experiment, first_order)
ORDER BY session_order, case_name, line, workers;
