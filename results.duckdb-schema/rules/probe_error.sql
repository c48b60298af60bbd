-- title: The recorder made an error
-- severity: warning
-- meaning: An error of the recorder inside the script turned some figures off. The script itself ran as without it. The
--   other figures are right.
--
-- Fires if an ok run of a command has `turned_off` in runs.recorded_by, which has the traceback as `error`.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    count(*) AS magnitude,
    format(
        'no figures of {} in {}: {}', any_value(recorded_by ->> '$.turned_off' ORDER BY run_id), min(run_id),
        regexp_extract(any_value(recorded_by ->> '$.error' ORDER BY run_id), '([^\n]+)\s*$', 1)
    ) AS evidence,
    'Report it with the traceback: `bench sql "SELECT recorded_by FROM runs WHERE recorded_by ->> ''$.error'' <> ''''"`.'
        AS advice
FROM last_attempts()
WHERE status = 'ok' AND recorded_by ->> '$.turned_off' <> ''
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
