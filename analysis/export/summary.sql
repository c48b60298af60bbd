-- One row per case and placement that was run, in the order of the plan: the columns of `scaling`, then how the runs
-- ended, so that a failure has its reason here too.
SELECT
    scaling.*,
    coverage.planned, coverage.ok, coverage.oom, coverage.failed, coverage.timeout, coverage.interrupted,
    coverage.skipped, coverage.missing, coverage.reasons
FROM scaling
LEFT JOIN coverage USING (session_id, case_name, nodes, ranks_per_node, threads)
LEFT JOIN (
    SELECT case_name, min(rowid) AS place
    FROM planned_runs
    WHERE session_id = $session_id AND probe IS NOT TRUE
    GROUP BY case_name
) AS plan USING (case_name)
WHERE session_id = $session_id
ORDER BY place NULLS LAST, case_name, scaling.workers, nodes, ranks_per_node, threads;
