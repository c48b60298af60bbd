-- One row per row of scaling, with the facts by which history distinguishes lines, experiments and changes, so that
-- history reads no runs.
WITH made AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        string_agg(DISTINCT fingerprint ->> 'settings', ', ' ORDER BY fingerprint ->> 'settings') AS settings,
        list_sort(coalesce(list(DISTINCT fingerprint::VARCHAR) FILTER (fingerprint::VARCHAR <> '{}'), []))
            AS fingerprints,
        arg_min(config, run_id) AS config
    FROM last_attempts()
    WHERE status = 'ok' AND probe IS NOT TRUE
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        session_id, suite, case_name, workload, scaling_mode, strategy, axis, workers, world_size, nodes,
        ranks_per_node,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        threads, placement, device_type, device_name, oversubscribed, runs, repeats, throughput, throughput_lo,
        throughput_hi, throughput_unit, logs, rounding, stops_early, efficiency, efficiency_lo, efficiency_hi,
        is_baseline, step_ms, step_ms_lo, step_ms_hi,
        median_log, median_log_variance, coalesce(odd_runs, 0) AS odd_runs,
        [
            suite, quick::VARCHAR, origin, device_type, case_name, workload, scaling_mode, strategy, axis,
            nodes::VARCHAR, ranks_per_node::VARCHAR, CASE WHEN axis = 'threads' THEN threads::VARCHAR END,
            throughput_unit
        ] AS line_facts,  -- facts that the points of one line share
        settings,  -- from the fingerprints of the ok repeats
        [settings, device_name, threads::VARCHAR] AS experiment_facts,
        fingerprints,  -- of the ok repeats, each once; null if none is ok
        CASE WHEN len(fingerprints) > 0 THEN md5(fingerprints::VARCHAR) END AS fingerprints_digest,
        config  -- specification of the first ok repeat
        -- throughput_unit: as in run_summary
        -- placement: nodes x ranks per node: `2x4`
        -- runs: number of last attempts with any status
        -- repeats: number of ok runs
        -- logs: {block, value} of each repeat: null, because sessions have no rounds in common, and ln(throughput)
        -- rounding: the most by which rounding moves these; null where the times are rounded too much
        -- efficiency: speedup ÷ workers; null if the baseline ran on another kind of device
        -- is_baseline: whether the case's efficiency is relative to this row
        -- step_ms: of the median run, a run's median step
        -- experiment_facts: facts that the points of one experiment share: settings, device model, threads
        -- fingerprints_digest: digest of fingerprints; null without fingerprints
    FROM scaling
    JOIN (SELECT session_id, quick, origin_of(imported) AS origin FROM sessions) AS origins USING (session_id)
    JOIN (
        SELECT
            session_id, case_name, nodes, ranks_per_node, threads,
            [{'block': NULL::BIGINT, 'value': run.value} FOR run IN logs] AS logs,
            rounding_error(resolution) AS rounding
        FROM placements
    ) AS moments USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN made USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN session_medians USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
