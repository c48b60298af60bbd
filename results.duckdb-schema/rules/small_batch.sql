-- title: Batch too small for so many ranks
-- severity: warning
-- meaning: Part of a step takes the same time whatever its batch: exchanging gradients, the optimizer, starting
--   operations. The fewer examples a rank has in a step, the more that part weighs, and under strong scaling every
--   further rank makes them fewer.
--
-- Fires where communication, and under strong scaling the longer computation per example of smaller batches (term
-- `work`), together cost a quarter of the ranks' time or more, as efficiency below 75 % is no longer good. Of the two
-- counts what surely costs something: whose interval, where there is one, lies above 0. The batch advised is the
-- smallest power of two times this one at which computation, each example at what it takes at the baseline, would be
-- four times what is lost now: a fifth of the ranks' time. Beyond 64 times, or the data set, there is none.
WITH losses AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        sum(share) AS cost,
        sum(lost_ms) AS lost_ms,
        coalesce(sum(lost_ms) FILTER (term = 'work'), 0) AS work_ms,
        coalesce(bool_and(share_lo IS NOT NULL AND is_decided), false) AS is_shown,
        string_agg(
            format(
                '{} ({} of the ranks'' time)',
                if(term = 'work', 'longer computation per example', 'communication'),
                share_text(share, share_lo, share_hi)
            ),
            ' and to ' ORDER BY term_order
        ) AS reasons
    FROM efficiency_loss
    WHERE axis = 'ranks' AND NOT oversubscribed
        AND term IN ('communication', 'work') AND share > 0 AND coalesce(share_lo, share) > 0
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
batches AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(strategy) AS strategy,
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
    WHERE cost >= 0.25
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(is_shown, 'shown', 'likely') AS certainty,
    cost,
    format(
        'of each step {} ms are lost to {}; at the baseline''s pace {} examples on each of {} ranks are {} ms of '
        'computation',
        number_text(lost_ms), reasons, batch_per_rank, world_size, number_text(useful_ms)
    ) AS evidence,
    if(
        is_in_reason,
        format(
            'Raise the global batch to about {:,} ({:,} on each rank): computation would then be at least four times '
            'what is lost now. {}A larger batch may need another learning rate.',
            global_batch * factor, batch_per_rank * factor,
            if(strategy = 'ddp', 'Where memory is short, train.accumulate makes such a step in parts. ', '')
        ),
        'No batch in reason would outweigh that: train this model on fewer ranks.'
    ) AS advice,
    CASE
        WHEN is_in_reason AND factor <= coalesce(largest_factor, factor) THEN batch_knob_of(compared, factor)
    END AS knob
FROM found
WHERE factor > 1
