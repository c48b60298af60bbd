-- title: Out of memory
-- severity: critical
-- meaning: Training did not fit into memory, so this size has no result. Activations grow with the examples of a
--   micro-batch; parameters, gradients and optimizer state do not depend on the batch.
--
-- Fires if a measured run ran out of memory. Probing runs of find_batch do not count, because they look for that
-- limit. The advice names the cheapest remedy first: smaller micro-batches, as long as they have more than one example
-- and the states leave a tenth of the memory to activations; then recomputing activations; then sharding.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    concat_ws(
        '; ',
        format('{} of {} runs ran out of memory', oom_runs, runs)
        || coalesce(format(' with micro-batches of {}', coalesce(micro_batch, too_large_micro_batch)), ''),
        format('{} would fit', known_batch),
        format('it fits at {}', fitting_placement),
        CASE
            WHEN states_are_too_large
            THEN format(
                'model, gradients and optimizer state alone take {}, and a rank may use {}',
                format_bytes(state_bytes::BIGINT), format_bytes(available_bytes)
            )
        END
    ) AS evidence,
    CASE remedy
        WHEN 'machine' THEN 'Measure smaller messages or matrices: largest_bytes, sizes and shapes of the workload.'
        WHEN 'shard'
        THEN format(
            'Shard the model (FSDP): each rank then keeps 1/{} of it and of its optimizer state.', world_size
        )
        WHEN 'ranks'
        THEN 'Shard the model (FSDP) over more ranks, or use a smaller model: no micro-batch is small enough here.'
        WHEN 'smaller'
        THEN 'Divide a step into smaller micro-batches and accumulate their gradients: the global batch and the '
            'learning stay the same'
            || if(couples_examples, ', except that BatchNorm sees fewer examples at once.', '.')
        WHEN 'recompute'
        THEN 'Recompute activations in backward instead of keeping them (checkpointing): a step takes about a third '
            'longer, and most of the memory of activations becomes free.'
    END AS advice,
    CASE
        WHEN remedy = 'smaller'
        THEN 'If they become too small to keep the device busy, recompute activations instead.'
    END AS alternatives,
    CASE remedy
        WHEN 'shard'
        THEN strategy_option_of(case_name, strategy_options, 'fsdp')
            || if(needs_fp32, ' ' || option_of(case_name, 'strategy.param_dtype', 'fp32'), '')
        WHEN 'smaller'
        THEN CASE
            -- Its divisors divide the batch at each size of the case, too.
            WHEN fixed_micro_batch IS NOT NULL
            THEN option_of(
                case_name, 'train.micro_batch',
                fixed_micro_batch
                // [factor FOR factor IN [2, 3, 5, 7, fixed_micro_batch] IF fixed_micro_batch % factor = 0][1]
            )
            WHEN accumulate = 1 THEN option_of(case_name, 'find_batch', 'true')
            ELSE option_of(case_name, 'train.accumulate', 2 * accumulate)
        END
        WHEN 'recompute' THEN option_of(case_name, 'train.checkpointing', 'true')
    END AS options
FROM memory_remedies
