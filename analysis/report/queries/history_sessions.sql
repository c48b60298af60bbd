-- One row per session of a suite that has rows in its history, newest first: its results, what changed since the
-- sessions that its rows are compared with, each fact once, and whether other work kept the machine busy.
WITH rows_of_suite AS (
    SELECT * FROM history WHERE suite = $suite
),
facts AS (
    SELECT session_id, 'changes' AS kind, unnest(string_split(changes, '; ')) AS fact FROM rows_of_suite
    UNION ALL
    SELECT session_id, 'also_changes', unnest(string_split(also_changes, '; ')) FROM rows_of_suite
    UNION ALL
    SELECT session_id, 'other_settings', unnest(string_split(other_settings, ', ')) FROM rows_of_suite
),
told AS (
    SELECT
        session_id,
        string_agg(DISTINCT fact, '; ' ORDER BY fact) FILTER (kind = 'changes') AS changes,
        string_agg(DISTINCT fact, '; ' ORDER BY fact) FILTER (kind = 'also_changes') AS also_changes,
        string_agg(DISTINCT fact, '; ' ORDER BY fact) FILTER (kind = 'other_settings') AS other_settings
    FROM facts
    WHERE fact <> ''
    GROUP BY session_id
),
counted AS (
    SELECT
        session_id,
        any_value(session_order) AS session_order,
        count(*) AS placements,
        count(throughput) AS measured,
        count(verdict) AS judged,
        count(*) FILTER (improvement) AS improvements,
        count(*) FILTER (verdict = 'same') AS same,
        count(*) FILTER (verdict = 'inconclusive') AS inconclusive,
        count(*) FILTER (regression) AS regressions,
        count(*) FILTER (odd_runs > 0) AS odd,
        count(*) FILTER (NOT is_alike) AS unlike,
        coalesce(bool_or(previous_session_id IS NOT NULL AND changes IS NULL), false) AS changes_unknown,
        count(*) FILTER (throughput IS NOT NULL AND previous_session_id IS NULL) AS first_seen
    FROM rows_of_suite
    GROUP BY session_id
)
SELECT
    session_order, session_id, title, created_at, quick, imported IS NOT NULL AS is_imported,
    counted.* EXCLUDE (session_id, session_order), changes, also_changes, other_settings,
    coalesce(is_busy, false) AS is_busy
FROM counted
JOIN sessions USING (session_id)
LEFT JOIN told USING (session_id)
LEFT JOIN other_work USING (session_id)
ORDER BY session_order DESC;
