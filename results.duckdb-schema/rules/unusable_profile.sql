-- title: The profiled steps do not show communication
-- severity: warning
-- meaning: Communication and waiting can be distinguished from computation only by profiled steps. These steps could
--   not be profiled, or torch's profiler did not see the work of the device, so no figure of communication comes from
--   them. The measured steps are not affected.
--
-- Fires if an ok run has a profile_problem.
WITH problems AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, min(run_id) AS run_id,
        any_value(profile_problem ORDER BY run_id) AS problem
    FROM runs
    WHERE profile_problem IS NOT NULL AND status = 'ok' AND NOT probe
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format('{} has no rows of profiled steps: {}', run_id, problem) AS evidence,
    CASE
        WHEN contains(problem, 'recorded no kernels') THEN
            'Stop other programs that profile the GPUs (Nsight, dcgm with profiling metrics), update the driver, and '
            || 'measure again.'
        WHEN contains(problem, 'ended before its profiled') THEN
            'Let the script train for more steps, or ask for fewer with --steps.'
        WHEN contains(problem, 'a profiler of the script') THEN
            'Turn off the profiler in the script, and measure again.'
        ELSE
            'Turn off any profiler that the script itself starts, and measure again. If there is none, the message is '
            || 'an error of torch''s profiler: try another version of torch.'
    END AS advice
FROM problems
