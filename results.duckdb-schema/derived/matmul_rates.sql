-- Ranks that share a device say nothing of it.
SELECT
    session_id, device_type, device_name, precision,
    CASE WHEN device_type = 'cpu' THEN threads END AS threads_of_a_cpu,
    max(flops_per_s) AS flops_per_s
FROM matmul_throughput
WHERE NOT oversubscribed AND session_id IN (SELECT session_id FROM incoming_sessions)
GROUP BY ALL;
