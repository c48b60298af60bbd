-- One row per run of the session, its last attempt.
SELECT run_id, status, measured_steps, step_ms_mean, step_ms_min, step_ms_max, cv, throughput, throughput_unit, mean_loss, final_loss,
    peak_memory_allocated_bytes, mean_memory_allocated_bytes, elapsed_s, error
FROM run_summary
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads, repeat;
