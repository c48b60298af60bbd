-- Phases of every ok run that trained on one rank of the newest kind of device, and titles of the findings for which the
-- times of its session may be wrong.
WITH alone AS (
    SELECT
        session_id, device_name, started_at, forward_ms, backward_ms, optimizer_ms,
        -- nothing marks when a command loads its data: it is the rest of the step
        coalesce(data_ms, greatest(step_ms - forward_ms - backward_ms - optimizer_ms, 0)) AS data_ms,
        runs.config::VARCHAR AS config
    FROM run_summary
    JOIN (SELECT session_id, run_id, attempt, config FROM runs) AS runs USING (session_id, run_id, attempt)
    WHERE device_type = $device_type AND device_name IS NOT NULL
        AND strategy IN ('single', 'ddp', 'fsdp', 'fsdp1', 'command') AND world_size = 1
        AND throughput IS NOT NULL AND backward_ms IS NOT NULL AND NOT oversubscribed
),
newest AS (
    SELECT device_name FROM alone
    ORDER BY started_at DESC
    LIMIT 1
),
doubtful AS (
    SELECT session_id, list_sort(list(DISTINCT lower(title[1]) || title[2:])) AS doubts
    FROM diagnosis
    WHERE finding IN ('busy_machine', 'contention', 'drifting_machine', 'noisy', 'oversubscribed')
    GROUP BY session_id
),
final AS (
    SELECT
        session_id, config, coalesce(data_ms, 0) AS data_ms, forward_ms, backward_ms, optimizer_ms,
        coalesce(doubts, []) AS doubts
    FROM alone
    JOIN newest USING (device_name)
    LEFT JOIN doubtful USING (session_id)
)
SELECT * FROM final
ORDER BY ALL;
