-- title: One repeat each
-- severity: notice
-- meaning: Every size was run once, so nothing is known of how much two runs of the same differ: no figure has an
--   interval, and a difference of a few percent may be chance.
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
    format('each of the {} sizes that have a figure was run once', measured) AS evidence,
    'Repeat: three times for a first interval, five for a good one.' AS advice,
    '--repeats 5' AS knob
FROM sizes
WHERE compared > 0 AND most_runs = 1
