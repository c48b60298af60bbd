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
    GROUP BY scaling.session_id
)
SELECT
    session_id,
    'shown' AS certainty,
    format('each of the {} sizes with a result was run once', measured) AS evidence,
    'Run each size several times: two repeats give a first, wide interval, and five a good one.' AS advice,
    '--repeats 5' AS options
FROM sizes
WHERE compared > 0 AND most_runs = 1
