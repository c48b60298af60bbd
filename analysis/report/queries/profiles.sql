-- One row per case and placement with profiled steps: their communication.
SELECT case_name, world_size, nodes, profiled_step_ms, exposed_share, overlap
FROM communication
WHERE session_id = $session_id
ORDER BY case_name, world_size, nodes, threads;
