-- Where threads are the axis, or a strategy is not known, nothing says what a step sends.
WITH ok_runs AS (
    SELECT *, accumulate, config
    FROM run_summary
    JOIN (SELECT session_id, run_id, attempt, accumulate, config FROM runs) USING (session_id, run_id, attempt)
    WHERE session_id IN (SELECT session_id FROM incoming_sessions)
        AND throughput IS NOT NULL AND backward_ms IS NOT NULL AND NOT oversubscribed
        AND scaling <> 'none' AND axis = 'ranks' AND strategy IN ('ddp', 'fsdp', 'fsdp1')
),
points AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, world_size,
        any_value(scaling) AS scaling,
        any_value(strategy) AS strategy,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch,
        any_value(coalesce(accumulate, 1)) AS micro_batches,
        any_value(try_cast(config->'strategy_options'->>'shard_size' AS INTEGER)) AS shard_size,
        geometric_mean(throughput) AS mean_throughput,
        avg(data_ms) AS data_ms,
        avg(forward_ms) AS forward_ms,
        avg(backward_ms) AS backward_ms,
        avg(optimizer_ms) AS optimizer_ms
    FROM ok_runs
    GROUP BY session_id, case_name, nodes, ranks_per_node, world_size
),
final AS (
    SELECT
        * EXCLUDE (data_ms, forward_ms, backward_ms, optimizer_ms),
        global_batch / mean_throughput AS step_s,
        step_s / (data_ms + forward_ms + backward_ms + optimizer_ms) AS s_per_ms,
        data_ms * s_per_ms AS data_s,
        forward_ms * s_per_ms AS forward_s,
        backward_ms * s_per_ms AS backward_s,
        optimizer_ms * s_per_ms AS optimizer_s,
        row_number() OVER (
            PARTITION BY session_id, case_name, world_size ORDER BY nodes, ranks_per_node
        ) = 1 AS stands_for_n
    FROM points
)
SELECT * EXCLUDE s_per_ms FROM final;
