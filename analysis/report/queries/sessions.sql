-- One row per session of the database, newest first: how many of its runs are ok, and its largest judged speedup.
WITH counted AS (
    SELECT session_id, sum(planned)::BIGINT AS planned, sum(ok)::BIGINT AS ok
    FROM coverage
    GROUP BY session_id
),
largest AS (
    SELECT
        session_id, case_name, axis, workers, nodes, speedup, efficiency, efficiency_lo, efficiency_hi, verdict
    FROM scaling
    WHERE verdict IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY scaling = 'strong' DESC, workers DESC, throughput DESC, case_name) = 1
),
devices AS (
    SELECT session_id, string_agg(DISTINCT device_name, ', ' ORDER BY device_name) AS devices
    FROM runs
    GROUP BY session_id
)
SELECT sessions.session_id, suite, title, created_at, quick, tags, planned, ok, devices,
    largest.* EXCLUDE (session_id)
FROM sessions
LEFT JOIN counted USING (session_id)
LEFT JOIN devices USING (session_id)
LEFT JOIN largest USING (session_id)
ORDER BY created_at DESC, sessions.session_id DESC;
