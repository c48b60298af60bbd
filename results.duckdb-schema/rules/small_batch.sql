-- title: Each rank has too little work per step
-- severity: warning
-- meaning: Part of a step takes the same time for any batch: exchanging gradients, the optimizer, starting operations.
--   The fewer examples a rank has per step, the more this part weighs. Under strong scaling, every further rank leaves
--   each rank fewer examples.
--
-- Fires if communication and, under strong scaling, the longer computation per example of smaller batches (term `work`)
-- together cost at least a quarter of the ranks' time, because an efficiency below 75 % is no longer good. Each of the
-- two counts only if it costs a thousandth or more and its interval, if any, is above 0; of an estimate, its point. If
-- all sizes have the same micro-batch, no forward pass gets smaller, and longer computation has another cause. If the
-- term `work` counts and ranks share a CPU, the finding is likely: the ranks also slow each other down, by an unknown
-- part. The advised batch is the smallest power of two times the current one at which computation would be four times
-- the current loss, which is then a fifth of the ranks' time. Its time per example is the current one or, if the term
-- `work` counts, the baseline's. No batch is advised beyond 64 times the current one, or beyond the data set.
WITH fixed_micro_batches AS (
    SELECT session_id, case_name
    FROM runs
    WHERE probe IS NOT TRUE
    GROUP BY session_id, case_name
    HAVING count(DISTINCT batch_per_rank / coalesce(accumulate, 1)) = 1 AND count(DISTINCT batch_per_rank) > 1
),
losses AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        sum(share) AS cost,
        sum(lost_ms) AS lost_ms,
        coalesce(sum(lost_ms) FILTER (term = 'work'), 0) AS work_ms,
        min(certainty_of(known_by, share_lo)) AS least_sure,
        bool_or(term = 'work') AS has_work,
        string_agg(
            format(
                '{} ({} of the ranks'' time)',
                if(term = 'work', 'longer computation per example', 'communication'),
                share_text(share, share_lo, share_hi)
            ),
            ' and to ' ORDER BY term_order
        ) AS reasons
    FROM efficiency_loss
    WHERE axis = 'ranks' AND NOT oversubscribed AND workers > baseline_workers
        AND term IN ('communication', 'work') AND share > 0.001
        AND least_share_of(known_by, share, share_lo) > 0
        AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
        AND (
            term = 'communication'
            OR (scaling_mode = 'strong' AND (session_id, case_name) NOT IN (FROM fixed_micro_batches))
        )
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
batches AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(strategy) AS strategy,
        any_value(device_type) AS device_type,
        any_value(world_size) AS world_size,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch,
        any_value(dataset_size) AS dataset_size
    FROM runs
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
costs AS (
    SELECT
        losses.*,
        batches.* EXCLUDE (session_id, case_name, nodes, ranks_per_node, threads),
        computation_ms - work_ms AS useful_ms,
        has_work AND device_type = 'cpu' AND ranks_per_node > 1 AS may_share,
        compared, largest_factor
    FROM losses
    JOIN step_parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN batches USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN compared_cases USING (session_id, case_name)
),
found AS (
    SELECT
        *,
        CASE WHEN lost_ms > 0 AND useful_ms > 0 THEN (2 ** least(ceil(log2(4 * lost_ms / useful_ms)), 30))::BIGINT END
            AS factor,
        factor <= 64 AND global_batch * factor <= coalesce(dataset_size, global_batch * factor) AS is_in_reason
    FROM costs
    WHERE cost >= 0.25 AND useful_ms IS NOT NULL AND reasons IS NOT NULL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(least_sure = 'shown' AND may_share, 'likely', least_sure) AS certainty,
    cost,
    format(
        'each step loses {} ms to {}; {}{} examples on each of {} ranks take {} ms of computation',
        number_text(lost_ms), reasons, if(has_work, 'at the baseline''s pace, ', ''), batch_per_rank, world_size,
        number_text(useful_ms)
    ) || if(may_share, '; computation also takes longer because ranks share this CPU, by an unknown part', '')
        AS evidence,
    if(
        is_in_reason,
        format(
            'Raise the global batch to about {:,} ({:,} on each rank): computation would then be at least four times '
            'the current loss.',
            global_batch * factor, batch_per_rank * factor
        ),
        'No reasonable batch would outweigh that: train this model on fewer ranks.'
    ) AS advice,
    CASE
        WHEN is_in_reason AND strategy = 'ddp'
        THEN 'If memory is short, train.accumulate divides such a step into parts.'
    END AS alternatives,
    CASE WHEN is_in_reason THEN 'A larger batch may need another learning rate.' END AS caution,
    CASE
        WHEN is_in_reason AND factor <= coalesce(largest_factor, factor) THEN batch_option_of(compared, factor)
    END AS options
FROM found
WHERE factor > 1
