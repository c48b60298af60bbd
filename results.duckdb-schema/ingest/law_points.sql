-- What the laws of the sessions that were inserted last are fitted to.
SELECT session_id, case_name, scaling, axis, workers, mean_throughput
FROM law_points
WHERE session_id IN (SELECT session_id FROM incoming_sessions)
ORDER BY session_id, case_name, workers;
