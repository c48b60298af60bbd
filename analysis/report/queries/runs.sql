-- One row per run of the session, its last attempt.
SELECT run_id, case_name, workload, scaling_mode, workers, axis, status, examples_per_step, examples_counted, steps_completed,
    counted_steps, pauses, validation_share, saving_share, unexplained_share, measured_steps, step_ms_mean, step_ms_min, step_ms_max, cv, throughput, throughput_unit, mean_loss, final_loss,
    peak_memory_allocated_bytes, mean_memory_allocated_bytes, elapsed_s, error
FROM run_summary
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads, repeat;
