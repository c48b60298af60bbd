-- One row per case and placement with profiled steps: their communication, and the step without stragglers.
SELECT * EXCLUDE (session_id)
FROM profiles
WHERE session_id = $session_id
ORDER BY case_name, world_size, nodes, threads;
