-- title: Runs that are not ok
-- severity: warning
-- meaning: Some planned runs have no results. They are missing in every table, and the remaining repeats may be the
--   lucky ones.
--
-- Fires for a case with a run whose last attempt failed, timed out or was interrupted. In a session that has ended, it
-- also fires for a case with a run that left nothing; in a stopped session, only for the case at which it was stopped.
-- Out of memory is a result and skipping is planned, so neither counts here.
WITH ended AS (
    SELECT
        session_id, case_name,
        count(*) FILTER (status <> 'skipped') AS runs,
        count(*) FILTER (status = 'failed') AS failed,
        count(*) FILTER (status = 'timeout') AS timeout,
        count(*) FILTER (status = 'interrupted') AS interrupted,
        arg_min(error, started_at) FILTER (status IN ('failed', 'timeout', 'interrupted') AND error IS NOT NULL)
            AS first_error
    FROM run_summary
    GROUP BY session_id, case_name
),
limits AS (
    SELECT session_id, case_name, max(try_cast(config->'measure'->>'timeout_s' AS DOUBLE)) AS timeout_s
    FROM runs
    GROUP BY session_id, case_name
),
resumed AS (
    SELECT session_id, if(command[2] = 'run' AND bool_and(strategy = 'command'), 'run', 'suite') AS measured_by
    FROM sessions
    LEFT JOIN planned_runs USING (session_id)
    GROUP BY session_id, command
),
stopped AS (
    SELECT session_id FROM run_summary WHERE status = 'interrupted'
),
never AS (
    SELECT coverage.session_id, case_name, sum(missing)::BIGINT AS missing, bool_and(finished_at IS NOT NULL) AS ended
    FROM coverage
    JOIN sessions ON sessions.session_id = coverage.session_id
    WHERE finished_at IS NOT NULL OR coverage.session_id IN (FROM stopped)
    GROUP BY coverage.session_id, case_name
),
counted AS (
    SELECT
        session_id, case_name, first_error, timeout_s, coalesce(never.ended, false) AS has_ended,
        coalesce(runs, 0) + coalesce(missing, 0) AS runs,
        coalesce(timeout, 0) AS timeout,
        [
            {'n': coalesce(failed, 0), 'word': 'failed'}, {'n': coalesce(timeout, 0), 'word': 'timed out'},
            {'n': coalesce(interrupted, 0), 'word': 'interrupted'}, {'n': coalesce(missing, 0), 'word': 'left nothing'}
        ] AS kinds,
        list_sum([kind.n FOR kind IN kinds])::BIGINT AS not_ok
    FROM ended
    FULL JOIN never USING (session_id, case_name)
    LEFT JOIN limits USING (session_id, case_name)
)
SELECT
    session_id, case_name,
    'shown' AS certainty,
    not_ok AS magnitude,
    format(
        '{} of {} runs {} not ok: {}', not_ok, runs, if(not_ok = 1, 'is', 'are'),
        array_to_string([kind.n || ' ' || kind.word FOR kind IN kinds IF kind.n > 0], ', ')
    ) AS evidence,
    'the first error: ' || replace(first_error, chr(10), ' ') AS details,
    format(
        '{}`bench {} --resume {}` repeats only the runs that are not ok.',
        CASE
            WHEN timeout > 0 THEN
                'If a run was still training, measure again with more time (measure.timeout_s). Else fix the cause of '
                'the hang; then '
            WHEN kinds[1].n = 0 AND kinds[3].n > 0 THEN ''  -- someone stopped the session: nothing is wrong
            ELSE 'Read the log in the run''s folder and fix the cause. If no setting has to change, '
        END,
        measured_by, session_id
    ) AS advice,
    if(
        timeout > 0, format('--set measure.timeout_s={:.0f}', 2 * timeout_s), format('--resume {}', session_id)
    ) AS options
FROM counted
JOIN resumed USING (session_id)
WHERE not_ok > 0 AND (has_ended OR not_ok > kinds[4].n)
