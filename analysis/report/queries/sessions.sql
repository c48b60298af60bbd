-- One row per session of the database, newest first: how many of its runs are ok, and its judged speedup at the
-- largest size, strong scaling first; if several cases have one, that of the first case in the suite.
WITH counted AS (  -- every run, planned or not
    SELECT
        session_id,
        sum(ok + oom + failed + timeout + interrupted + skipped + missing)::BIGINT AS runs,
        sum(ok)::BIGINT AS ok,
        sum(skipped)::BIGINT AS skipped
    FROM coverage
    GROUP BY session_id
),
places AS (
    SELECT session_id, case_name, min(rowid) AS place
    FROM planned_runs
    WHERE probe IS NOT TRUE
    GROUP BY session_id, case_name
),
largest AS (
    SELECT
        session_id, case_name, axis, workers, nodes, is_baseline, speedup, speedup_lo, speedup_hi, speedup_min,
        speedup_max,
        efficiency, efficiency_lo, efficiency_hi, verdict, verdict_lo, verdict_hi
    FROM scaling
    LEFT JOIN places USING (session_id, case_name)
    WHERE verdict IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY session_id ORDER BY scaling_mode = 'strong' DESC, workers DESC, place, case_name, nodes
    ) = 1
),
devices AS (
    SELECT session_id, string_agg(DISTINCT device_name, ', ' ORDER BY device_name) AS devices
    FROM runs
    GROUP BY session_id
)
SELECT sessions.session_id, suite, title, created_at, quick,
    list_filter(tags, lambda tag: trim(tag) <> '') AS tags, runs, ok, skipped, devices,
    largest.* EXCLUDE (session_id)
FROM sessions
LEFT JOIN counted USING (session_id)
LEFT JOIN devices USING (session_id)
LEFT JOIN largest USING (session_id)
ORDER BY created_at DESC, sessions.session_id DESC;
