-- title: Every rank holds a full copy of a large model
-- severity: warning
-- meaning: Under DDP, every rank holds model, gradients and optimizer state in full, however many ranks there are.
--   FSDP divides them by the number of ranks, for some more communication, and so leaves room for a larger model or
--   batch.
--
-- Fires if DDP runs out of memory, or if its tensors take more than nine tenths of a GPU or of the memory that a rank
-- may allocate, which leaves too little for fragments. Sharding must also help. The finding is shown if the same case
-- fits under another strategy. It is likely if sharding would free a quarter of the memory, by the size of parameters,
-- gradients and optimizer state. If it would free less, activations fill the memory, and smaller micro-batches help.
-- Does not fire if out_of_memory already advises sharding.
WITH attempts AS (
    SELECT
        *,
        -- from another run of this model if this run ended before the number was known
        coalesce(
            parameters, max(parameters) OVER (PARTITION BY session_id, workload, config ->> '$.workload_options')
        ) AS model_parameters
    FROM runs
    WHERE probe IS NOT TRUE
),
models AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(state_bytes_of(model_parameters, config -> '$.train')) AS state_bytes,
        any_value(config -> '$.strategy_options') AS strategy_options,
        -- torch refuses BatchNorm with parameters gathered in half precision
        bool_or(coalesce(couples_examples AND precision IN ('bf16', 'fp16'), false)) AS needs_fp32,
        bool_or(oversubscribed) AS oversubscribed
    FROM attempts
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
alternatives AS (
    SELECT
        session_id, reference_case AS case_name, nodes, ranks_per_node, threads,
        case_name AS alternative_case,
        strategy AS alternative_strategy
    FROM strategy_comparison
    WHERE strategy IN ('fsdp', 'fsdp1') AND fits AND (reference_fits IS NOT TRUE OR memory_ratio <= 0.9)
    QUALIFY row_number() OVER (
        PARTITION BY session_id, reference_case, nodes, ranks_per_node, threads
        ORDER BY time_ratio NULLS LAST, case_name
    ) = 1
),
candidates AS (
    SELECT
        memory.*, models.* EXCLUDE (session_id, case_name, nodes, ranks_per_node, threads),
        alternative_case, alternative_strategy,
        least(if(device_type = 'cuda', device_memory_bytes, NULL), memory_limit_bytes) AS available_bytes,
        state_bytes / world_size AS shard_bytes
    FROM memory
    JOIN models USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN alternatives USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE strategy = 'ddp' AND world_size > 1 AND NOT oversubscribed
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(alternative_case IS NULL, 'likely', 'shown') AS certainty,
    concat_ws(
        '; ',
        if(
            oom_runs > 0, format('{} of {} runs ran out of memory', oom_runs, runs),
            format(
                'tensors take up to {} of {}', format_bytes(peak_memory_allocated_bytes),
                format_bytes(available_bytes)
            )
        ),
        format(
            'model, gradients and optimizer state take {} on every rank, or sharded over {} ranks {}',
            format_bytes(state_bytes::BIGINT), world_size, format_bytes(shard_bytes::BIGINT)
        ),
        format('{} ({}) fits', alternative_strategy, alternative_case)
    ) AS evidence,
    format(
        'Shard the model: under FSDP each rank keeps 1/{} of parameters, gradients and optimizer state.',
        world_size
    ) AS advice,
    strategy_option_of(case_name, strategy_options, coalesce(alternative_strategy, 'fsdp')) || if(
        needs_fp32 AND coalesce(alternative_strategy, 'fsdp') = 'fsdp',
        ' ' || option_of(case_name, 'strategy.param_dtype', 'fp32'), ''
    ) AS options
FROM candidates
WHERE (session_id, case_name) NOT IN (
    SELECT (session_id, case_name) FROM memory_remedies WHERE remedy = 'shard'
) AND (
    oom_runs > 0
    OR (
        peak_memory_allocated_bytes > 0.9 * available_bytes
        AND (device_type = 'cuda' OR memory_limit_bytes IS NOT NULL AND free_share < 0.1)
    )
) AND (alternative_case IS NOT NULL OR state_bytes - shard_bytes >= 0.25 * available_bytes)
