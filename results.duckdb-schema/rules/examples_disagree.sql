-- title: The counts of examples disagree
-- severity: warning
-- meaning: The recorder counts the examples of each step. Its number differs from the batch that the command was given,
--   or the ranks were counted in different ways with different results. One of the numbers is wrong, and bench cannot
--   know which. So there are no examples, and no figures that need them.
--
-- Fires if an ok run of a command has `conflict` in runs.recorded_by.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    count(*) AS magnitude,
    any_value(recorded_by ->> '$.conflict' ORDER BY run_id) AS evidence,
    'Give the examples of each rank in a step with `--examples-per-step N`.' AS advice
FROM last_attempts()
WHERE status = 'ok' AND recorded_by ->> '$.conflict' <> ''
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
