-- title: One repeat each
-- severity: notice
-- meaning: Every size was run once, so the variation between equal runs is unknown. No result has an interval, and a
--   difference of a few percent may be chance.
--
-- Fires for a session in which sizes were compared and none was planned or run more than once.
WITH sizes AS (
    SELECT
        scaling.session_id,
        count(*) FILTER (NOT is_baseline AND speedup IS NOT NULL) AS compared,
        count(*) FILTER (throughput IS NOT NULL) AS measured,
        max(runs) AS most_runs
    FROM scaling
    WHERE NOT is_published
    GROUP BY scaling.session_id
)
SELECT
    session_id,
    'shown' AS certainty,
    format('each of the {} sizes with a result was run once', measured) AS evidence,
    'Take 3 more rounds, then ask again.' AS advice,
    '--repeats 4' AS options
FROM sizes
WHERE compared > 0 AND most_runs = 1
