-- One row per case and placement of one side of a comparison: of its sessions (an id or a list of them), and of one
-- case unless that is null. It has ln(throughput) of what can be the unit: each ok repeat, each session's mean. Threads
-- per rank tell placements apart only where they are the axis: elsewhere a plan gives all ranks of a case the same
-- number.
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
        session_id, case_name, workload, throughput_unit, scaling, strategy, axis, nodes, ranks_per_node, axis_threads,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        min(threads) AS threads,
        bool_or(oversubscribed) AS oversubscribed,
        list(ln(throughput) ORDER BY repeat) FILTER (throughput IS NOT NULL) AS logs,
        list(DISTINCT made_by::VARCHAR) FILTER (throughput IS NOT NULL AND made_by::VARCHAR <> '{}') AS fingerprints
    FROM last_runs
    GROUP BY
        session_id, case_name, workload, throughput_unit, scaling, strategy, axis, nodes, ranks_per_node, axis_threads
),
final AS (
    SELECT
        case_name, workload, throughput_unit, scaling, strategy, axis, nodes, ranks_per_node, axis_threads,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        min(threads) AS threads,
        placement_of(nodes, ranks_per_node, axis, min(threads)) AS placement,
        -- axis_threads: threads per rank where they are the axis, else 0
        bool_or(oversubscribed) AS oversubscribed,
        -- repeat_logs: of every ok repeat
        -- session_logs: the mean of each session's ok repeats
        coalesce(flatten(list(logs ORDER BY session_id) FILTER (logs IS NOT NULL)), []) AS repeat_logs,
        coalesce(list(mean_of(logs) ORDER BY session_id) FILTER (logs IS NOT NULL), []) AS session_logs,
        -- fingerprints: of the ok repeats, each once for a session, as JSON text
        coalesce(flatten(list(fingerprints) FILTER (fingerprints IS NOT NULL)), []) AS fingerprints
    FROM sessions_of_it
    GROUP BY case_name, workload, throughput_unit, scaling, strategy, axis, nodes, ranks_per_node, axis_threads
)
SELECT * FROM final;
