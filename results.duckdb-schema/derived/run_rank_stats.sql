-- One row per rank of an attempt, over its measured steps. The four phases of a rank add up to its step; means are over
-- measured steps. A validation between two measured steps is not part of the span. This pause starts when the last rank
-- finishes the step before it, and ends when this rank starts the step after it: waiting for the last rank counts as
-- part of the span, as in every step. In a command one rank may validate or save alone, while the others have begun the
-- step after it and wait there. Its pause ends for all ranks when the last rank starts that step, and this wait counts
-- neither in the span, nor in the step, nor in the longer of its forward and backward phases. The same holds for
-- waiting in `long_steps`, but its pauses are in the span and in the step, unless `--pauses leave-out` is given.
WITH trained_steps AS NOT MATERIALIZED (
    SELECT * FROM steps WHERE kind IN ('warmup', 'measured')
),
-- The steps before and after a validation, a few per run, are joined by equality. Most runs validate only after their
-- last step, so nothing is joined and no rank's rows are read.
borders AS (
    SELECT DISTINCT
        session_id, run_id, attempt,
        step AS validated_step,
        unnest([step - 1, step]) AS step
    FROM (
        SELECT session_id, run_id, attempt, step FROM evals
        UNION
        SELECT session_id, run_id, attempt, step FROM pauses
    )
    SEMI JOIN (FROM step_stats WHERE kind = 'measured') AS resumed USING (session_id, run_id, attempt, step)
    ANTI JOIN (FROM runs WHERE pauses_of(config) = 'count') AS with_pauses USING (session_id, run_id, attempt)
),
at_borders AS (
    SELECT
        session_id, run_id, attempt, rank, validated_step,
        any_value(strategy) = 'command' AS is_command,
        max(start_ns + step_ns) FILTER (step < validated_step) AS end_ns,
        max(start_ns) FILTER (step = validated_step) AS resumed_ns,
        max(step_ns) FILTER (step = validated_step) AS resumed_step_ns,
        max(forward_ns) FILTER (step = validated_step) AS resumed_forward_ns,
        max(backward_ns) FILTER (step = validated_step) AS resumed_backward_ns
    FROM trained_steps
    JOIN borders USING (session_id, run_id, attempt, step)
    JOIN runs USING (session_id, run_id, attempt)
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt, rank, validated_step
),
-- pause_ns: 0 if the warm-up ended with the validation, apart from a wait.
each_pause AS (
    SELECT
        *,
        if(is_command, least(max(resumed_ns) OVER of_pause - resumed_ns, resumed_step_ns), 0) AS waited_ns,
        resumed_ns + waited_ns - coalesce(max(end_ns) OVER of_pause, resumed_ns) AS pause_ns,
        coalesce(resumed_backward_ns >= resumed_forward_ns, resumed_forward_ns IS NULL) AS waits_in_backward
    FROM at_borders
    WINDOW of_pause AS (PARTITION BY session_id, run_id, attempt, validated_step)
),
pauses AS (
    SELECT
        session_id, run_id, attempt, rank,
        sum(pause_ns)::BIGINT AS pauses_ns,
        sum(waited_ns)::BIGINT AS waited_ns,
        sum(if(waits_in_backward, 0, least(waited_ns, resumed_forward_ns))) AS waited_in_forward_ns,
        sum(if(waits_in_backward, least(waited_ns, resumed_backward_ns), 0)) AS waited_in_backward_ns
    FROM each_pause
    GROUP BY session_id, run_id, attempt, rank
),
unexplained AS (
    SELECT
        session_id, run_id, attempt, rank,
        sum(waited_ns) FILTER (waited_in = 'data') AS long_in_data_ns,
        sum(waited_ns) FILTER (waited_in = 'forward') AS long_in_forward_ns,
        sum(waited_ns) FILTER (waited_in = 'backward') AS long_in_backward_ns,
        sum(waited_ns) FILTER (waited_in = 'optimizer') AS long_in_optimizer_ns,
        (sum(own_ns + waited_ns) FILTER (pauses_of(config) = 'leave-out'))::BIGINT AS left_out_ns
    FROM long_steps
    JOIN runs USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, rank
),
of_runs AS (
    SELECT
        session_id, run_id, attempt,
        count(*) FILTER (kind = 'measured') // 6 AS steps_of_a_sixth,
        max(step) FILTER (kind = 'measured') + 1 - 6 * steps_of_a_sixth AS first_of_sixths,
        bool_or(last_to_wait_rank IS NOT NULL) AS waits_are_known
    FROM step_stats
    GROUP BY session_id, run_id, attempt
),
times_last AS (
    SELECT session_id, run_id, attempt, last_to_wait_rank AS rank, count(*) AS times_last
    FROM step_stats
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt, last_to_wait_rank
),
-- Grouped instead of filtered: with 50 million rows, an aggregate with a filter costs several times one without.
parts AS (
    SELECT
        session_id, run_id, attempt, rank, kind,
        -- Steps that do not fill a sixth are the first ones.
        CASE WHEN step >= first_of_sixths THEN (step - first_of_sixths) // nullif(steps_of_a_sixth, 0) END AS sixth,
        any_value(steps_of_a_sixth) AS steps_of_a_sixth,
        any_value(node) AS node,
        any_value(waits_are_known) AS waits_are_known,
        count(*) AS steps,
        min(start_ns) AS first_ns,
        max(start_ns + step_ns) AS last_ns,
        sum(step_ns) AS step_ns,
        sum(data_ns) AS data_ns,
        sum(forward_ns) AS forward_ns,
        sum(backward_ns) AS backward_ns,
        sum(optimizer_ns) AS optimizer_ns,
        max(memory_allocated_bytes) AS allocated_peak,
        max(memory_reserved_bytes) AS reserved_peak,
        sum(memory_allocated_bytes) AS allocated,
        sum(memory_reserved_bytes) AS reserved,
        count(memory_allocated_bytes) AS allocated_readings,
        count(memory_reserved_bytes) AS reserved_readings,
        min(memory_allocated_bytes) AS allocated_floor
    FROM trained_steps
    JOIN of_runs USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, rank, kind, sixth
),
each_rise AS (
    SELECT
        session_id, run_id, attempt, rank, allocated_readings,
        allocated / nullif(allocated_readings, 0) AS allocated_mean,
        (allocated_floor - lag(allocated_floor) OVER of_rank) / steps_of_a_sixth AS floor_rise,
        allocated_mean - lag(allocated_mean) OVER of_rank AS mean_rise
    FROM parts
    WHERE kind = 'measured' AND sixth IS NOT NULL
    WINDOW of_rank AS (PARTITION BY session_id, run_id, attempt, rank ORDER BY sixth)
),
-- A jump, as of an allocator's cache, raises the floor of only one sixth.
rises AS (
    SELECT
        session_id, run_id, attempt, rank,
        min(floor_rise) AS floor_rise,
        min(mean_rise) AS mean_rise
    FROM each_rise
    GROUP BY session_id, run_id, attempt, rank
    HAVING count(*) FILTER (allocated_readings > 0) = 6 AND sum(allocated_readings) >= 8
),
over_steps AS (
    SELECT
        session_id, run_id, attempt, rank,
        any_value(node) AS node,
        any_value(waits_are_known) AS waits_are_known,
        coalesce(sum(steps) FILTER (kind = 'measured'), 0)::INTEGER AS measured_steps,
        max(last_ns) FILTER (kind = 'measured') - min(first_ns) FILTER (kind = 'measured') AS first_to_last_ns,
        sum(step_ns) FILTER (kind = 'measured') AS all_step_ns,
        sum(data_ns) FILTER (kind = 'measured') AS all_data_ns,
        sum(forward_ns) FILTER (kind = 'measured') AS all_forward_ns,
        sum(backward_ns) FILTER (kind = 'measured') AS all_backward_ns,
        sum(optimizer_ns) FILTER (kind = 'measured') AS all_optimizer_ns,
        max(allocated_peak) AS memory_allocated_bytes_peak,
        max(reserved_peak) AS memory_reserved_bytes_peak,
        sum(allocated) FILTER (kind = 'measured') / nullif(sum(allocated_readings) FILTER (kind = 'measured'), 0)
            AS memory_allocated_bytes_mean,
        sum(reserved) FILTER (kind = 'measured') / nullif(sum(reserved_readings) FILTER (kind = 'measured'), 0)
            AS memory_reserved_bytes_mean
    FROM parts
    GROUP BY session_id, run_id, attempt, rank
),
final AS (
    SELECT
        over_steps.* EXCLUDE (
            first_to_last_ns, waits_are_known, all_step_ns, all_data_ns, all_forward_ns, all_backward_ns,
            all_optimizer_ns
        ),
        first_to_last_ns - coalesce(pauses_ns, 0) - coalesce(left_out_ns, 0) AS span_ns,
        (all_step_ns - coalesce(waited_ns, 0) - coalesce(left_out_ns, 0)) / measured_steps AS step_ns_mean,
        (all_data_ns - coalesce(long_in_data_ns, 0)) / measured_steps AS data_ns_mean,
        (all_optimizer_ns - coalesce(long_in_optimizer_ns, 0)) / measured_steps AS optimizer_ns_mean,
        (all_forward_ns - coalesce(waited_in_forward_ns, 0) - coalesce(long_in_forward_ns, 0)) / measured_steps
            AS forward_ns_mean,
        (all_backward_ns - coalesce(waited_in_backward_ns, 0) - coalesce(long_in_backward_ns, 0)) / measured_steps
            AS backward_ns_mean,
        floor_rise AS memory_growth_bytes_per_step,
        floor_rise > 0 AND mean_rise > 0 AND floor_rise * measured_steps >= 0.01 * memory_allocated_bytes_mean
            AS memory_grows,  -- whether floor and mean rise in every sixth, by 1 % in all; null below 8 readings
        if(waits_are_known, coalesce(times_last, 0), NULL) AS times_last
        -- measured_steps: steps that the rank completed
        -- span_ns: last end - first start - pauses in between that are left out, on the rank's own clock
        -- step_ns_mean: mean of the rank's own steps
        -- data_ns_mean: data phase, mean over measured steps
        -- forward_ns_mean: forward phase, mean over measured steps
        -- backward_ns_mean: backward phase, mean over measured steps
        -- optimizer_ns_mean: optimizer phase, mean over measured steps
        -- memory_allocated_bytes_peak: warm-up included, because it must fit too
        -- memory_reserved_bytes_peak: of the allocator's pool, warm-up included
        -- memory_allocated_bytes_mean: mean over measured steps
        -- memory_reserved_bytes_mean: mean over measured steps
        -- memory_growth_bytes_per_step: smallest rise of the floor between successive sixths of the measured steps
        -- times_last: measured steps in which this rank was the last to wait for the others; null if unknown
    FROM over_steps
    LEFT JOIN pauses USING (session_id, run_id, attempt, rank)
    LEFT JOIN unexplained USING (session_id, run_id, attempt, rank)
    LEFT JOIN rises USING (session_id, run_id, attempt, rank)
    LEFT JOIN times_last USING (session_id, run_id, attempt, rank)
)
SELECT * FROM final;
