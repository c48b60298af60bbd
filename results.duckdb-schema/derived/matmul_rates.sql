-- One row per session, kind of device, precision and, on a CPU, threads: the fastest multiplication (`matmul`). Ranks
-- that share a device are left out.
SELECT
    session_id, device_type, device_name, precision,
    CASE WHEN device_type = 'cpu' THEN threads END AS threads_of_a_cpu,  -- threads per rank; null on a GPU
    max(flops_per_s) AS flops_per_s  -- per rank
    -- device_type: cpu, cuda
FROM matmul_throughput
WHERE NOT oversubscribed
GROUP BY ALL;
