-- A run that completed no step has its row here too: it shows how far it came.
INSERT INTO run_device_stats BY NAME
SELECT
    session_id, run_id, attempt, node, device,
    count(*) AS readings,
    max(memory_used_bytes) AS memory_used_bytes_peak,
    max(rss_bytes) AS rss_bytes_peak
FROM samples
WHERE session_id IN (SELECT session_id FROM incoming_sessions)
GROUP BY session_id, run_id, attempt, node, device;
