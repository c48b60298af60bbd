-- One row per run of the session that is not ok, its last attempt; `missing`: planned, but left no result.
WITH planned AS (
    SELECT * FROM planned_runs WHERE session_id = $session_id AND probe IS NOT TRUE
),
last_attempts AS (
    SELECT * FROM run_summary WHERE session_id = $session_id
),
final AS (
    SELECT
        coalesce(last_attempts.case_name, planned.case_name) AS case_name,
        coalesce(last_attempts.run_id, planned.run_id) AS run_id,
        coalesce(
            placement, placement_of(planned.nodes, planned.ranks_per_node, planned.axis, planned.threads)
        ) AS placement,
        coalesce(status, if(skip_reason IS NULL, 'missing', 'skipped')) AS status,
        coalesce(attempt + 1, 0) AS attempts,
        failed_rank,
        failed_node,
        steps_completed,
        coalesce(error, skip_reason) AS reason,
        coalesce(last_attempts.workers, planned.workers) AS workers
    FROM planned
    FULL OUTER JOIN last_attempts ON planned.run_id = last_attempts.run_id
    WHERE status IS DISTINCT FROM 'ok'
)
SELECT * EXCLUDE (workers) FROM final
ORDER BY case_name, workers, placement, run_id;
