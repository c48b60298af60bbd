-- The fastest multiplication of one rank on the newest kind of device, by precision and CPU threads, in any session (as
-- in the view utilisation).
WITH rates AS (
    SELECT matmul_throughput.*, created_at
    FROM matmul_throughput
    JOIN sessions USING (session_id)
    WHERE device_type = $device_type AND oversubscribed IS NOT TRUE AND device_name IS NOT NULL
),
newest AS (
    SELECT device_name FROM rates
    ORDER BY created_at DESC, session_id DESC
    LIMIT 1
),
final AS (
    SELECT
        precision, threads,
        arg_max(session_id, flops_per_s) AS session_id,
        max(flops_per_s) AS flops_per_s
    FROM rates
    JOIN newest USING (device_name)
    GROUP BY precision, threads
)
SELECT * FROM final
ORDER BY ALL;
