-- One row per session, case and placement from which communication_prediction starts: strong or weak scaling over
-- ranks, a strategy whose messages are known, an ok repeat, not oversubscribed. The phases are means over ranks, steps
-- and repeats, scaled to add up to step_s. If threads are the axis or the strategy is unknown, the messages of a step
-- are unknown.
WITH ok_runs AS (
    SELECT *, accumulate, config
    FROM run_summary
    JOIN (SELECT session_id, run_id, attempt, accumulate, config FROM runs) USING (session_id, run_id, attempt)
    WHERE throughput IS NOT NULL AND backward_ms IS NOT NULL AND NOT oversubscribed
        AND scaling_mode <> 'none' AND axis = 'ranks' AND strategy IN ('ddp', 'fsdp', 'fsdp1')
),
points AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, world_size,
        any_value(scaling_mode) AS scaling_mode,
        any_value(strategy) AS strategy,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch,
        avg(examples_per_step) AS examples_per_step,
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
        examples_per_step / mean_throughput AS step_s,  -- examples_per_step ÷ mean_throughput
        step_s / (data_ms + forward_ms + backward_ms + optimizer_ms) AS s_per_ms,
        data_ms * s_per_ms AS data_s,  -- data phase of step_s
        forward_ms * s_per_ms AS forward_s,  -- forward phase of step_s
        backward_ms * s_per_ms AS backward_s,  -- backward phase of step_s, with its communication
        optimizer_ms * s_per_ms AS optimizer_s,  -- optimizer phase of step_s
        row_number() OVER (
            PARTITION BY session_id, case_name, world_size ORDER BY nodes, ranks_per_node
        ) = 1 AS has_fewest_nodes  -- whether it uses the fewest nodes of all placements with as many ranks
        -- scaling_mode: strong, weak
        -- strategy: ddp, fsdp, fsdp1
        -- device_type: cpu, cuda
        -- device_name: as reported by CUDA or the kernel
        -- nodes: number of nodes used
        -- ranks_per_node: ranks per node, the same on every node
        -- world_size: number of ranks
        -- batch_per_rank: examples per rank and optimizer step
        -- global_batch: examples per optimizer step
        -- examples_per_step: examples that throughput counts, mean over ok repeats
        -- micro_batches: micro-batches per optimizer step
        -- shard_size: ranks that share one copy of the parameters; null: all
        -- mean_throughput: geometric mean over ok repeats, in the unit of throughput
    FROM points
)
SELECT * EXCLUDE s_per_ms FROM final;
