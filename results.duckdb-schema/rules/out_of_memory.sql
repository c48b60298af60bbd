-- title: Out of memory
-- severity: critical
-- meaning: What training holds at once did not fit, so that this size has no figure. Activations grow with the examples
--   of a micro-batch; parameters, gradients and optimizer state are the same whatever the batch.
--
-- Fires where a measured run ended out of memory; probing runs of find_batch, which look for that end, are none. The
-- advice takes what is cheapest first: smaller micro-batches as long as there is more than one example in them and the
-- states themselves leave a tenth of the memory to activations, then recomputing activations, then sharding.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    concat_ws(
        '; ',
        format('{} of {} runs ran out of memory', oom_runs, runs)
        || coalesce(format(' with micro-batches of {}', coalesce(micro_batch, too_large_micro_batch)), ''),
        format('{} would fit', known_batch),
        format('at {} it fits', fitting_placement),
        CASE
            WHEN states_are_too_large
            THEN format(
                'model, gradients and optimizer state alone are {}, where a rank may have {}',
                format_bytes(state_bytes::BIGINT), format_bytes(available_bytes)
            )
        END
    ) AS evidence,
    CASE remedy
        WHEN 'machine' THEN 'Measure smaller messages or matrices: largest_bytes, sizes and shapes of the workload.'
        WHEN 'shard'
        THEN format(
            'Shard the model (FSDP): a rank then keeps one part in {} of it and of its optimizer state.', world_size
        )
        WHEN 'ranks'
        THEN 'Shard the model (FSDP) over more ranks, or take a smaller model: no micro-batch is small enough here.'
        WHEN 'smaller'
        THEN 'Divide a step into smaller micro-batches and accumulate their gradients: the global batch and what is '
            'learned stay the same'
            || if(couples_examples, ', but for BatchNorm, which then sees fewer examples at once. ', '. ')
            || 'If they get too small to keep the device busy, recompute activations instead.'
        WHEN 'recompute'
        THEN 'Recompute activations in backward instead of keeping them (checkpointing): a step takes about a third '
            'longer, and most of what activations took is free.'
    END AS advice,
    CASE remedy
        WHEN 'shard'
        THEN strategy_knob_of(case_name, strategy_options, 'fsdp')
            || if(needs_fp32, ' ' || knob_of(case_name, 'strategy.param_dtype', 'fp32'), '')
        WHEN 'smaller'
        THEN if(
            accumulate = 1, knob_of(case_name, 'find_batch', 'true'),
            knob_of(case_name, 'train.accumulate', 2 * accumulate)
        )
        WHEN 'recompute' THEN knob_of(case_name, 'train.checkpointing', 'true')
    END AS knob
FROM memory_remedies
