-- Phases of every ok run that trained on one rank of the newest kind of device.
WITH alone AS (
    SELECT
        session_id, device_name, started_at, forward_ms, backward_ms, optimizer_ms,
        -- nothing marks when a script loads its data: it is the rest of the step
        coalesce(data_ms, greatest(step_ms - forward_ms - backward_ms - optimizer_ms, 0)) AS data_ms,
        runs.config::VARCHAR AS config
    FROM run_summary
    JOIN (SELECT session_id, run_id, attempt, config FROM runs) AS runs USING (session_id, run_id, attempt)
    ANTI JOIN slow_runs USING (session_id, run_id, attempt)
    WHERE device_type = $device_type AND device_name IS NOT NULL
        AND strategy IN ('single', 'ddp', 'fsdp', 'fsdp1', 'script') AND world_size = 1
        AND throughput IS NOT NULL AND backward_ms IS NOT NULL AND NOT oversubscribed
),
newest AS (
    SELECT device_name FROM alone
    ORDER BY started_at DESC
    LIMIT 1
),
final AS (
    SELECT session_id, config, coalesce(data_ms, 0) AS data_ms, forward_ms, backward_ms, optimizer_ms
    FROM alone
    JOIN newest USING (device_name)
)
SELECT * FROM final
ORDER BY ALL;
