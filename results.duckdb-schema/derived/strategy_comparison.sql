-- One row per session, placement and pair of cases that differ only in strategy, with DDP as the reference: workload,
-- data, training settings, device, scaling and batch are the same. If several such cases use DDP, e.g. with different
-- options, the suite's first is the reference. Columns: whether each fits, how much more time the other takes (by
-- `log_ratio`), how much memory it saves, and the resulting recommendation. Equally fast: the whole interval is
-- within 5 %; then memory decides, on CUDA, if it differs by 10 % or more.
WITH settings AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(concat_ws(' ', config ->> '$.workload_options', config ->> '$.data', config ->> '$.train'))
            AS settings
    FROM runs
    WHERE probe IS NOT TRUE
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
memory_of AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        oom_runs,
        peak_memory_allocated_bytes AS peak_memory_bytes
    FROM memory
),
points AS (
    SELECT placements.*, settings, oom_runs, peak_memory_bytes
    FROM placements
    JOIN settings USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN memory_of USING (session_id, case_name, nodes, ranks_per_node, threads)
),
suite_order AS (
    SELECT session_id, case_name, min(rowid) AS place
    FROM planned_runs
    WHERE probe IS NOT TRUE  -- probing runs come before every case's own runs
    GROUP BY session_id, case_name
),
reference_points AS (
    SELECT points.*
    FROM points
    LEFT JOIN suite_order USING (session_id, case_name)
    WHERE strategy = 'ddp'
    QUALIFY row_number() OVER (
        PARTITION BY
            session_id, nodes, ranks_per_node, threads, scaling_mode, axis, workload, settings, precision, device_type,
            batch_per_rank, global_batch
        ORDER BY place NULLS LAST, case_name
    ) = 1
),
paired AS (
    SELECT
        points.*,
        reference.case_name AS reference_case,
        reference.strategy AS reference_strategy,
        reference.runs AS reference_runs,
        reference.repeats AS reference_repeats,
        reference.oom_runs AS reference_oom_runs,
        reference.peak_memory_bytes AS reference_peak_memory_bytes,
        points.oversubscribed OR reference.oversubscribed AS shared_slots,
        log_ratio(
            reference.logs, points.logs, reference.stops_early OR points.stops_early,
            rounding_error(reference.resolution) + rounding_error(points.resolution)
        ) AS slower,
        greatest(reference.resolution, points.resolution) > 0.5 AS is_coarse,
        -- A run that ran out of memory shows how far it got, not how much it needs.
        if(points.oom_runs = 0 AND reference.oom_runs = 0, points.peak_memory_bytes / reference.peak_memory_bytes, NULL)
            AS memory_ratio
    FROM points
    JOIN reference_points AS reference
        USING (
            session_id, nodes, ranks_per_node, threads, scaling_mode, axis, workload, settings, precision, device_type,
            batch_per_rank, global_batch
        )
    WHERE points.strategy <> 'ddp'
),
with_interval AS (
    SELECT
        *,
        exp(slower.point) AS time_ratio,
        exp(slower.lo) AS time_ratio_lo,
        exp(slower.hi) AS time_ratio_hi,
        CASE WHEN oom_runs > 0 THEN false WHEN repeats > 0 THEN true END AS fits,
        CASE WHEN reference_oom_runs > 0 THEN false WHEN reference_repeats > 0 THEN true END AS reference_fits
    FROM paired
),
compared AS (
    SELECT
        *,
        time_ratio_lo >= 1 / 1.05 AND time_ratio_hi <= 1.05 AS is_as_fast,
        if(device_type = 'cuda', memory_ratio, NULL) AS judged_memory_ratio,
        -- How many percent more examples per second the faster one has, with the interval.
        round(100 * (greatest(time_ratio, 1 / time_ratio) - 1))::BIGINT AS faster_pct,
        round(100 * (if(time_ratio > 1, time_ratio_lo, 1 / time_ratio_hi) - 1))::BIGINT AS faster_pct_lo,
        -- With two very different repeats the bound is not worth naming and may have more digits than an integer.
        round(100 * (least(if(time_ratio > 1, time_ratio_hi, 1 / time_ratio_lo), 100) - 1))::BIGINT AS faster_pct_hi
    FROM with_interval
),
-- The first condition that holds decides.
decided AS (
    SELECT
        *,
        CASE
            WHEN shared_slots THEN 'undecided'
            WHEN fits = false AND reference_fits = false THEN 'undecided'
            WHEN reference_fits = false AND fits THEN strategy
            WHEN fits = false AND reference_fits THEN reference_strategy
            WHEN fits IS NOT TRUE OR reference_fits IS NOT TRUE OR time_ratio_lo IS NULL THEN 'undecided'
            WHEN is_as_fast AND judged_memory_ratio <= 0.9 THEN strategy
            WHEN is_as_fast AND judged_memory_ratio >= 1 / 0.9 THEN reference_strategy
            WHEN is_as_fast THEN 'either'
            WHEN time_ratio_lo > 1 THEN reference_strategy
            WHEN time_ratio_hi < 1 THEN strategy
            ELSE 'undecided'
        END AS recommendation
    FROM compared
),
with_words AS (
    SELECT
        *,
        if(time_ratio > 1, reference_strategy, strategy) AS faster,
        format(
            '{} % more examples/s [{}, {}]', faster_pct, faster_pct_lo,
            if(faster_pct_hi > 1000, 'more than 1000', faster_pct_hi::VARCHAR)
        ) AS gain,
        format('{} ran out of memory in {} of {} runs', reference_strategy, reference_oom_runs, reference_runs)
            AS reference_oom,
        format('{} ran out of memory in {} of {} runs', strategy, oom_runs, runs) AS other_oom,
        format(
            'as fast within 5 % and {} % less memory',
            round(100 * (1 - least(judged_memory_ratio, 1 / judged_memory_ratio)))::INTEGER
        ) AS less_memory
    FROM decided
),
final AS (
    SELECT
        session_id, suite, scaling_mode, axis, workers, world_size, nodes, ranks_per_node, threads, placement,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        workload, precision, device_type, batch_per_rank, global_batch,
        reference_strategy,            -- ddp
        reference_case,                -- case of the reference
        strategy, case_name,
        reference_repeats,             -- ok runs of the reference
        repeats,                       -- ok runs of the other case
        reference_fits,                -- whether none of its runs ran out of memory; null if none is ok either
        fits,                          -- the same for the other case
        -- time_ratio: step time divided by the reference's; above 1 the other is slower
        time_ratio, time_ratio_lo, time_ratio_hi,
        memory_ratio,  -- a rank's peak allocated memory divided by the reference's; null unless both fit
        reference_peak_memory_bytes,   -- allocated, per rank of the reference
        peak_memory_bytes,             -- allocated, per rank of the other case
        recommendation,                -- a strategy, either, undecided
        -- reason: sentence that gives the reason, with figures
        recommendation || ': ' || CASE
            WHEN shared_slots THEN 'ranks shared slots, which is measured and never judged'
            WHEN fits = false AND reference_fits = false THEN reference_oom || ', ' || other_oom
            WHEN fits = false AND reference_fits THEN other_oom
            WHEN reference_fits = false AND fits THEN reference_oom
            WHEN reference_repeats = 0 THEN reference_strategy || ' has no ok run'
            WHEN repeats = 0 THEN strategy || ' has no ok run'
            WHEN time_ratio_lo IS NULL AND is_coarse THEN 'the times are rounded too much for an interval'
            WHEN time_ratio_lo IS NULL THEN 'an interval needs three ok repeats of each'
            WHEN is_as_fast AND recommendation <> 'either' THEN less_memory
            WHEN is_as_fast AND judged_memory_ratio > 0 THEN 'as fast within 5 %, with as much memory within 10 %'
            WHEN is_as_fast THEN 'as fast within 5 %'
            WHEN recommendation = 'undecided' THEN format('{} has {}: repeats differ by more', faster, gain)
            ELSE gain || ' and both fit'
        END AS reason
    FROM with_words
)
SELECT * FROM final;
