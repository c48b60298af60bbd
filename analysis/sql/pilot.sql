-- One row per case and placement of a session, with the cost of its runs and how much their times vary, null if none is
-- ok; and the seconds from the start of the session to its first run.
WITH session_starts AS (
    SELECT session_id, epoch(min(started_at) - any_value(created_at)) AS session_start_s
    FROM runs
    JOIN sessions USING (session_id)
    WHERE session_id = $session_id
    GROUP BY session_id
)
SELECT
    session_start_s,
    scaling.case_name, scaling.placement, scaling.point_id, repeats,
    variance_components.* EXCLUDE (
        session_id, case_name, workers, nodes, ranks_per_node, threads, placement, point_id, is_baseline
    )
FROM scaling
JOIN session_starts USING (session_id)
LEFT JOIN variance_components USING (session_id, point_id)
WHERE session_id = $session_id
ORDER BY scaling.case_name, scaling.workers, scaling.nodes, scaling.ranks_per_node, scaling.threads
