-- One row per session, kind of device, precision and, on a CPU, threads: its fastest multiplication (`matmul`).
-- Ranks that share a device say nothing of it.
SELECT
    session_id, device_type, device_name, precision,
    CASE WHEN device_type = 'cpu' THEN threads END AS threads_of_a_cpu,  -- of each rank; null of a GPU
    max(flops_per_s) AS flops_per_s  -- of one rank
    -- device_type: cpu, cuda
FROM matmul_throughput
WHERE NOT oversubscribed
GROUP BY ALL;
