-- One row per case and placement of a session, with what its runs cost and how their times vary; null if none is ok.
SELECT
    scaling.case_name, scaling.placement, scaling.point_id, repeats,
    variance_components.* EXCLUDE (
        session_id, case_name, workers, nodes, ranks_per_node, threads, placement, point_id, is_baseline
    )
FROM scaling
LEFT JOIN variance_components USING (session_id, point_id)
WHERE session_id = $session_id
ORDER BY scaling.case_name, scaling.workers, scaling.nodes, scaling.ranks_per_node, scaling.threads
