-- The fastest multiplication of one rank in the newest session of each precision, by its CPU threads.
WITH rates AS (
    SELECT matmul_throughput.*, created_at
    FROM matmul_throughput
    JOIN sessions USING (session_id)
    WHERE device_type = $device_type AND oversubscribed IS NOT TRUE
),
newest AS (
    SELECT * FROM rates
    QUALIFY dense_rank() OVER (PARTITION BY precision ORDER BY created_at DESC, session_id DESC) = 1
),
final AS (
    SELECT precision, threads, any_value(session_id) AS session_id, max(flops_per_s) AS flops_per_s
    FROM newest
    GROUP BY precision, threads
)
SELECT * FROM final
ORDER BY ALL;
