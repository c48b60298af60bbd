-- One row per case and placement of the session that has an efficiency, and per size of the six published curves that
-- are most like it. No rows if the session has one size, or if no published table is loaded.
WITH own AS (
    SELECT * FROM scaling
    WHERE session_id = $session_id AND axis = 'ranks' AND scaling_mode <> 'none' AND efficiency IS NOT NULL
        AND NOT oversubscribed AND NOT is_published
),
published AS (
    SELECT
        replace(curves.suite, 'published-', '') || ': ' || case_name AS line, curves.title, likeness, curves,
        scaling.*
    FROM published_next_to($session_id) AS curves
    JOIN scaling USING (session_id, case_name)
    WHERE likeness <= 6 AND efficiency IS NOT NULL
)
SELECT
    false AS is_published, case_name, NULL::VARCHAR AS title, workers, placement, efficiency, efficiency_lo,
    efficiency_hi, 0 AS likeness, NULL::BIGINT AS curves
FROM own
WHERE (SELECT max(workers) > min(workers) FROM own) AND EXISTS (FROM published)
UNION ALL
SELECT
    true, line, title, workers, placement, efficiency, NULL, NULL, likeness, curves
FROM published
WHERE (SELECT max(workers) > min(workers) FROM own)
ORDER BY likeness, case_name, workers;
