-- One row per session, case and placement at which a measured run ran out of memory: what fits, and what to try first.
-- In this order: smaller micro-batches, as long as they have more than one example and the states leave a tenth of the
-- memory to activations; then recomputing activations; then sharding. Probing runs of find_batch are left out.
WITH attempts AS (
    SELECT
        *,
        nullif(batch_per_rank // accumulate, 0) AS micro_batch,  -- 0: nothing is trained, or nothing fits
        -- from another run of this model if this run ended before the number was known
        coalesce(
            parameters, max(parameters) OVER (PARTITION BY session_id, workload, config ->> '$.workload_options')
        ) AS model_parameters,
        json_merge_patch(config -> '$.train', '{"accumulate": null, "micro_batch": null}')::VARCHAR AS train,
        try_cast(config ->> '$.train.micro_batch' AS INTEGER) AS fixed_micro_batch,
        concat_ws(' ', workload, config ->> '$.workload_options', config ->> '$.strategy_options') AS model
    FROM last_attempts()
    WHERE probe IS NOT TRUE
),
places AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, strategy, world_size, device_type, model, train,
        any_value(workers) AS workers,
        any_value(placement_of(nodes, ranks_per_node, axis, threads)) AS placement,
        bool_or(couples_examples) AS couples_examples,
        any_value(state_bytes_of(model_parameters, config -> '$.train')) AS state_bytes,
        any_value(config -> '$.strategy_options') AS strategy_options,
        any_value(config ->> '$.train.checkpointing') = 'true' AS checkpointing,
        any_value(config ->> '$.find_batch') IS NOT NULL AS finds_batch,
        bool_or(coalesce(couples_examples AND precision IN ('bf16', 'fp16'), false)) AS needs_fp32,
        any_value(accumulate) AS accumulate,
        any_value(batch_per_rank) AS batch_per_rank,
        max(micro_batch) AS micro_batch,
        max(fixed_micro_batch) AS fixed_micro_batch,
        max(steps_completed) AS steps_completed,
        count(*) AS runs,
        count(*) FILTER (status = 'oom') AS oom_runs
    FROM attempts
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, strategy, world_size, device_type, model, train
),
-- The largest micro-batch of the same training that is known to fit: measured, or found by find_batch.
fitting AS (
    SELECT places.session_id, places.case_name, nodes, ranks_per_node, threads, max(others.micro_batch) AS fitting_batch
    FROM places
    JOIN places AS others USING (session_id, nodes, ranks_per_node, threads, strategy, device_type, model, train)
    WHERE others.oom_runs = 0 AND others.steps_completed > 0 AND others.micro_batch < places.micro_batch
    GROUP BY places.session_id, places.case_name, nodes, ranks_per_node, threads
),
-- The fewest workers with which the case fits, if more of them help.
larger AS (
    SELECT session_id, case_name, places.nodes, places.ranks_per_node, places.threads,
        arg_min(others.placement, (others.workers, others.nodes)) AS fitting_placement
    FROM places
    JOIN places AS others USING (session_id, case_name, device_type)
    WHERE others.oom_runs = 0 AND others.steps_completed > 0 AND others.workers > places.workers
    GROUP BY session_id, case_name, places.nodes, places.ranks_per_node, places.threads
),
-- Twice the number of micro-batches must divide a rank's batch at each size of the case.
divisible AS (
    SELECT session_id, case_name, bool_and(batch_per_rank % (2 * accumulate) = 0) AS halves
    FROM places
    GROUP BY session_id, case_name
),
with_memory AS (
    SELECT
        places.*, halves, fitting_placement, too_large_micro_batch,
        coalesce(largest_micro_batch, fitting_batch) AS known_batch,
        least(
            if(memory.device_type = 'cuda', memory.device_memory_bytes, NULL), memory.memory_limit_bytes
        ) AS available_bytes
    FROM places
    JOIN memory USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN fitting USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN larger USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN divisible USING (session_id, case_name)
    LEFT JOIN batch_limits USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE places.oom_runs > 0
),
with_remedy AS (
    SELECT
        *,
        strategy = 'ddp' AND world_size > 1 AS can_shard,
        strategy IN ('single', 'ddp') AND state_bytes > 0.9 * available_bytes AS states_are_too_large,
        CASE
            WHEN strategy = 'process_group' THEN 'machine'
            WHEN states_are_too_large AND can_shard THEN 'shard'
            WHEN states_are_too_large THEN 'ranks'
            WHEN micro_batch > 1 AND NOT finds_batch
                AND (accumulate = 1 OR halves OR fixed_micro_batch IS NOT NULL)
            THEN 'smaller'
            WHEN checkpointing IS FALSE THEN 'recompute'
            WHEN can_shard THEN 'shard'
            ELSE 'ranks'
        END AS remedy
    FROM with_memory
),
final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, strategy, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        runs,                          -- number of last attempts with any status
        oom_runs,                      -- number of these that ran out of memory
        micro_batch,                   -- examples per forward pass, the most that were tried; null: unknown
        accumulate,                    -- micro-batches per step
        fixed_micro_batch,             -- the suite's train.micro_batch; null: accumulate divides the batch
        too_large_micro_batch,         -- smallest micro-batch that find_batch tried and that does not fit
        known_batch,                   -- largest micro-batch of the same training that is known to fit here
        fitting_placement,             -- placement with the fewest workers, more than these, with which the case fits
        couples_examples,              -- whether the model's examples depend on each other, as with BatchNorm
        needs_fp32,                    -- whether BatchNorm would receive parameters gathered in half precision
        strategy_options,              -- as resolved, a JSON object
        state_bytes,                   -- parameters, gradients and optimizer state of the whole model
        available_bytes,               -- memory that a rank may use; null: unknown
        states_are_too_large,          -- whether the states leave less than a tenth of that to activations
        remedy  -- smaller (micro-batches), recompute, shard, ranks (more of them), machine (nothing is trained)
    FROM with_remedy
)
SELECT * FROM final;
