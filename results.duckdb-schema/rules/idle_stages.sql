-- title: Idle pipeline stages
-- severity: warning
-- meaning: While a pipeline fills and drains, ranks wait for work. With p ranks and m micro-batches of equal stages,
--   they wait for (p - 1) / (m + p - 1) of the time. More micro-batches, several stages per rank or the schedule
--   zero_bubble shorten this. Unequal stages lengthen it, because all stages wait for the longest one.
--
-- Fires if the ranks of a pipeline are idle for 10 % of its time or more, as a mean over its positions. The finding is
-- shown if the interval of the least idle position is above 10 % too, else likely. The stages are called unequal if
-- the longest works 10 % more than the mean, and if that explains more of the wait than filling and draining does. An
-- oversubscribed case is left out, because its ranks also wait for the core that they share.
WITH pipelines AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(pp) AS pp,
        any_value(stages_per_rank) AS stages_per_rank,
        any_value(micro_batches) AS micro_batches,
        any_value(schedule) AS schedule,
        any_value(ideal_idle_share) AS ideal_idle_share,
        avg(idle_share) AS idle_share,
        min(idle_share_lo) AS idle_share_lo,
        avg(pipeline_ms) AS pipeline_ms,
        arg_max(position, work_ms) AS longest_position,
        max(work_ms) AS longest_ms,
        avg(work_ms) AS mean_ms,
        1 - avg(work_ms) / max(work_ms) AS share_of_unequal_stages
    FROM pipeline_idle
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
steps_of AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        avg(step_ms_mean) AS step_ms,
        any_value(batch_per_rank) AS batch_per_rank,
        min(any_value(batch_per_rank)) OVER (PARTITION BY session_id, case_name) AS least_batch
    FROM run_summary
    WHERE status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
judged AS (
    SELECT
        *,
        coalesce(longest_ms >= 1.1 * mean_ms AND share_of_unequal_stages > ideal_idle_share, false) AS is_unequal,
        -- The fewest micro-batches with which equal stages would be idle for a tenth or less; every schedule takes a
        -- multiple of pp.
        (ceil(9 * (pp - 1) / stages_per_rank / pp) * pp)::BIGINT AS least_micro_batches,
        coalesce(
            list_min(list_filter(
                range(least_micro_batches, batch_per_rank::BIGINT + 1, pp::BIGINT), lambda m: batch_per_rank % m = 0
            )),
            least_micro_batches
        ) AS enough_micro_batches,
        (session_id, case_name) IN (SELECT (session_id, case_name) FROM batch_limits) AS has_found_batch
    FROM pipelines
    JOIN steps_of USING (session_id, case_name, nodes, ranks_per_node, threads)
    SEMI JOIN (FROM placements WHERE NOT oversubscribed) AS enough_cores
        USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(idle_share_lo >= 0.1, 'shown', 'likely') AS certainty,
    idle_share * pipeline_ms / step_ms AS cost,
    format(
        'the {} ranks of the pipeline wait for {} of forward and backward{}{}', pp, percent_text(idle_share),
        coalesce(
            format(
                '; equal stages would wait for {} with {} micro-batches', percent_text(ideal_idle_share), micro_batches
            ),
            ''
        ),
        if(
            is_unequal,
            format(
                '; position {} works {} ms, the mean is {} ms', longest_position, number_text(longest_ms),
                number_text(mean_ms)
            ),
            ''
        )
    ) AS evidence,
    CASE
        WHEN is_unequal
        THEN format('Move layers away from position {}: all stages wait for the longest one.', longest_position)
        WHEN micro_batches < enough_micro_batches
        THEN format(
            'Divide the batch into more micro-batches: with {}, equal stages would wait for 10 % or less{}.',
            enough_micro_batches,
            if(
                batch_per_rank % enough_micro_batches = 0, '',
                format('; choose another batch, because {} examples do not divide so', batch_per_rank)
            )
        )
        ELSE 'Use fewer stages, or make each micro-batch larger: sending between stages takes the rest of the time.'
    END AS advice,
    CASE
        WHEN schedule IN ('gpipe', '1f1b')
        THEN 'The schedule interleaved, with several stages per rank, and the schedule zero_bubble wait less.'
    END AS alternatives,
    CASE
        WHEN NOT is_unequal AND micro_batches < enough_micro_batches AND batch_per_rank % enough_micro_batches = 0
            AND (NOT has_found_batch OR least_batch % enough_micro_batches = 0)
        THEN option_of(case_name, 'train.accumulate', enough_micro_batches) || if(
            has_found_batch,
            -- otherwise the batch would be searched again, and grow
            ' ' || option_of(case_name, 'find_batch', 'false') || ' '
                || option_of(case_name, 'batch_per_rank', least_batch),  -- it fits at every size
            ''
        )
    END AS options
FROM judged
WHERE idle_share >= 0.1
