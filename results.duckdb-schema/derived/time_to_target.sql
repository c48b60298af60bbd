-- One row per session, case and placement (nodes, ranks_per_node, threads) that was to train until a validation's loss
-- is at most `measure.until_loss`: how long that took, and how many times as fast as the baseline. The baseline is the
-- case's smallest n, or that of the case named by `baseline:`, if it trained the same workload, options and data to the
-- same target on the same kind of device. A run that missed the target counts as longer than all that reached it,
-- however it ended; if half of them or more did, times are null. Intervals: two-sided 95 %, from the ranks of sorted
-- runs (see `median_lo_rank`): null below six runs; an end is null if a missed run has that rank. In the speedup's, the
-- distances of both medians from their ends are added as independent errors are: as squares.
WITH trials AS (
    SELECT
        summary.*,
        [summary.workload, (config -> '$.workload_options')::VARCHAR, summary.data_source, summary.device_type]
            AS trained
    FROM run_summary AS summary
    JOIN runs USING (session_id, run_id, attempt)
    WHERE summary.until_loss IS NOT NULL AND summary.status <> 'skipped'
),
ends AS (
    SELECT
        session_id, run_id, attempt,
        min(step) AS end_step,
        arg_min(evals.elapsed_s + validation_s, step) AS end_s
    FROM trials
    JOIN evals USING (session_id, run_id, attempt)
    WHERE val_loss <= until_loss
    GROUP BY session_id, run_id, attempt
),
timed AS (
    SELECT
        trials.*,
        end_step IS NOT NULL AS is_at_target,
        CASE WHEN is_at_target THEN end_step ELSE 'infinity'::DOUBLE END AS steps,
        CASE WHEN is_at_target THEN setup_s + end_s ELSE 'infinity'::DOUBLE END AS seconds
    FROM trials
    LEFT JOIN ends USING (session_id, run_id, attempt)
),
sizes AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(point_id) AS point_id,
        any_value(strategy) AS strategy,
        any_value(axis) AS axis,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(placement) AS placement,
        bool_or(oversubscribed) AS oversubscribed,
        any_value(global_batch) AS global_batch,
        any_value(baseline) AS baseline,
        any_value(until_loss) AS until_loss,
        any_value(trained) AS trained,
        count(*) AS runs,
        count(*) FILTER (is_at_target) AS reached,
        count(*) FILTER (NOT is_at_target) AS missed,
        2 * missed < runs AS has_median,
        CASE WHEN has_median THEN median(steps) END AS steps,
        -- an unknown time leaves the order of the others unknown
        CASE WHEN has_median AND count(seconds) = runs THEN list(seconds ORDER BY seconds) END AS sorted_seconds,
        list_median(sorted_seconds) AS seconds,
        sorted_seconds[median_lo_rank(runs)] AS seconds_lo,
        nullif(sorted_seconds[runs + 1 - median_lo_rank(runs)], 'infinity') AS seconds_hi
    FROM timed
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
baselines AS (
    SELECT
        session_id AS baseline_session_id,
        case_name AS baseline_case,
        workers AS baseline_workers,
        point_id AS baseline_point_id,
        until_loss AS baseline_until_loss,
        trained AS baseline_trained,
        seconds AS baseline_seconds,
        seconds_lo AS baseline_seconds_lo,
        seconds_hi AS baseline_seconds_hi
    FROM sizes
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads
    ) = 1
),
final AS (
    SELECT
        session_id, case_name, strategy, axis, workers, world_size, nodes, ranks_per_node, threads, point_id,
        placement, oversubscribed, global_batch, until_loss,
        reached,                       -- number of runs that reached the target
        missed,                        -- number of runs that began and did not reach it, also if they ended early
        steps,  -- median of optimizer steps before the first validation at the target, warm-up included
        seconds,                       -- median of the whole clock to the end of that validation, start-up included
        seconds_lo,
        seconds_hi,
        baseline_case,                 -- case of the baseline; null if nothing is comparable
        baseline_workers,              -- n of the baseline
        coalesce(point_id = baseline_point_id, false) AS is_baseline,  -- whether this row is the baseline
        -- speedup: the baseline's seconds ÷ this size's: above 1, this size is faster; null at the baseline
        CASE WHEN NOT is_baseline THEN baseline_seconds / seconds END AS speedup,
        speedup * exp(-sqrt(ln(baseline_seconds / baseline_seconds_lo) ** 2 + ln(seconds_hi / seconds) ** 2))
            AS speedup_lo,
        speedup * exp(sqrt(ln(baseline_seconds_hi / baseline_seconds) ** 2 + ln(seconds / seconds_lo) ** 2))
            AS speedup_hi
    FROM sizes
    LEFT JOIN baselines
        ON baseline_session_id = session_id AND baseline_case = coalesce(baseline, case_name)
        AND baseline_until_loss = until_loss AND baseline_trained = trained
)
SELECT * FROM final;
