-- title: The profiled steps do not show communication
-- severity: warning
-- meaning: Communication and waiting can be distinguished from computation only by profiled steps. These steps were
--   taken, but torch's profiler did not see the work of the device, so no figure of communication comes from them.
--
-- Fires if an ok run has a profile_problem.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format('{} has no rows of profiled steps: {}', min(run_id), any_value(profile_problem ORDER BY run_id)) AS evidence,
    'Stop other programs that profile the GPUs (Nsight, dcgm with profiling metrics), update the driver, and measure '
    || 'again.' AS advice
FROM runs
WHERE profile_problem IS NOT NULL AND status = 'ok' AND NOT probe
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
