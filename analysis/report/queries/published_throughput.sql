-- One row per case and placement of the session, and per size of each published curve from which it differs in neither
-- GPU, model, precision, batch nor unit. No rows if there is no such curve.
WITH alike AS (
    SELECT
        replace(suite, 'published-', '') || ': ' || case_name AS line, title, session_id, case_name, nearest_case, likeness,
        count(*) OVER () AS curves
    FROM published_next_to($session_id)
    WHERE len(differences) = 0 AND is_same_unit
    ORDER BY likeness
    LIMIT 6
)
SELECT
    false AS is_published, case_name, NULL::VARCHAR AS title, workers, placement, throughput, throughput_lo, throughput_hi,
    throughput_unit, 0 AS likeness, NULL::BIGINT AS curves
FROM scaling
WHERE session_id = $session_id AND axis = 'ranks' AND throughput IS NOT NULL AND NOT oversubscribed
    AND case_name IN (SELECT nearest_case FROM alike)
UNION ALL
SELECT
    true, line, title, workers, placement, throughput, NULL, NULL, throughput_unit, likeness, curves
FROM alike
JOIN scaling USING (session_id, case_name)
ORDER BY likeness, case_name, workers;
