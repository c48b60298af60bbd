-- title: Too little computation for the communication
-- severity: warning
-- meaning: In every step the ranks exchange gradients or parameters of the whole model, however little they have
--   computed. If a model is small for its network, or does little with each parameter, as an embedding does, it
--   finishes computing long before the exchange is complete. The ranks then mostly wait for bytes, and more ranks wait
--   more.
--
-- Fires on two conditions. A rank computes for less than twice as long as it waits for exposed communication, so that
-- communication alone leaves at most two thirds of the time. And communication costs at least a quarter of the ranks'
-- time, by the lower end of its interval if there is one, or if it is estimated, by its point: an efficiency below 75 %
-- is no longer good. The advice to halve the bytes is given on GPUs and across nodes; on one CPU, rounding them takes
-- as long as sending them.
WITH messages AS (
    SELECT session_id, case_name, sum(message_bytes) AS message_bytes
    FROM step_messages
    GROUP BY session_id, case_name
),
models AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(flops_per_step / world_size) AS flops,
        any_value(round(tokens_per_example)::BIGINT) AS tokens_per_example,
        any_value(flops_per_step / global_batch / tokens_per_example / parameters) AS flops_per_token_and_parameter,
        any_value(config->>'$.strategy_options.gradient_compression') = 'none'
            AND (any_value(device_type) = 'cuda' OR nodes > 1) AS can_compress
    FROM runs
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
found AS (
    SELECT
        losses.*, step_parts.computation_ms, step_parts.communication_ms, flops, message_bytes,
        can_compress, tokens_per_example,
        -- A matrix product takes 6 per token and parameter, forward and backward; an embedding none.
        coalesce(flops_per_token_and_parameter < 3, false) AS is_mostly_embedding
    FROM efficiency_loss AS losses
    JOIN step_parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN models USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN messages USING (session_id, case_name)
    WHERE term = 'communication' AND NOT losses.oversubscribed AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    certainty_of(known_by, share_lo) AS certainty,
    share AS cost,
    format(
        '{} ms of computation per step compared with {} ms of exposed communication: {} of the ranks'' time{}{}',
        number_text(computation_ms), number_text(communication_ms), share_text(share, share_lo, share_hi),
        coalesce(format('; a rank exchanges {} MiB', number_text(message_bytes / 2 ** 20)), ''),
        coalesce(format(' and computes {} FLOPs for each of these bytes', number_text(flops / message_bytes)), '')
    ) AS evidence,
    if(can_compress, 'Send gradients as bf16, which halves their bytes. ', '')
        || 'Let a rank compute more between two exchanges, with a larger batch or several micro-batches per step; or '
            'train this model on fewer ranks, and several models side by side.' AS advice,
    nullif(
        concat_ws(
            ' ',
            if(
                tokens_per_example < 128,
                format(
                    'Examples are short, {} tokens: packing several into one sequence also gives more computation.',
                    tokens_per_example
                ),
                NULL
            ),
            if(
                is_mostly_embedding,
                'Much of the exchange belongs to parameters with little computation, as in an embedding: a smaller '
                'vocabulary reduces it.',
                NULL
            )
        ),
        ''
    ) AS alternatives,
    CASE WHEN can_compress THEN option_of(case_name, 'strategy.gradient_compression', 'bf16') END AS options
FROM found
WHERE least_share_of(known_by, share, share_lo) >= 0.25 AND computation_ms < 2 * communication_ms
