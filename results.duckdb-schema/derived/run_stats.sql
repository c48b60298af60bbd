-- One row per attempt that completed a step.
WITH over_ranks AS (
    SELECT
        session_id, run_id, attempt,
        count(*)::INTEGER AS ranks,
        min(measured_steps) AS measured_steps,
        max(span_ns) AS span_ns,
        avg(data_ns_mean) AS data_ns_mean,
        avg(forward_ns_mean) AS forward_ns_mean,
        avg(backward_ns_mean) AS backward_ns_mean,
        avg(optimizer_ns_mean) AS optimizer_ns_mean,
        max(memory_allocated_bytes_peak) AS memory_allocated_bytes_peak,
        max(memory_reserved_bytes_peak) AS memory_reserved_bytes_peak,
        avg(memory_allocated_bytes_mean) AS memory_allocated_bytes_mean,
        avg(memory_reserved_bytes_mean) AS memory_reserved_bytes_mean
    FROM run_rank_stats
    GROUP BY session_id, run_id, attempt
),
sorted_steps AS (
    SELECT
        session_id, run_id, attempt,
        min(step)::BIGINT AS first_step,  -- BIGINT: no difference overflows, even in a damaged file
        count(*) AS steps,
        (steps + 199) // 200 AS block_steps,
        list_sort(list(step_ns)) AS sorted_step_ns,
        sorted_step_ns[(steps + 1) // 2] AS step_ns_median
    FROM step_stats
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt
),
over_steps AS (
    SELECT
        session_id, run_id, attempt,
        avg(step_ns) FILTER (kind = 'measured') AS step_ns_mean,
        stddev_samp(step_ns) FILTER (kind = 'measured') AS step_ns_std,
        min(step_ns) FILTER (kind = 'measured') AS step_ns_min,
        max(step_ns) FILTER (kind = 'measured') AS step_ns_max,
        avg(step_ns) FILTER (kind = 'measured' AND step < first_step + steps // 2) AS step_ns_mean_first_half,
        avg(step_ns) FILTER (kind = 'measured' AND step >= first_step + steps // 2) AS step_ns_mean_second_half,
        avg(before_wait_ns_max - before_wait_ns_median) FILTER (kind = 'measured') AS max_minus_median_ns_mean,
        any_value(loss) FILTER (step = 0) AS first_loss,
        avg(loss) FILTER (kind = 'measured') AS finite_mean_loss,
        coalesce(sum(nonfinite_losses) FILTER (kind = 'measured'), 0) AS measured_nonfinite,
        arg_max_null(loss, step) FILTER (kind = 'measured') AS final_loss,
        (sum(nonfinite_losses) FILTER (kind IN ('warmup', 'measured')))::BIGINT AS nonfinite_losses
    FROM step_stats
    LEFT JOIN sorted_steps USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt
),
-- The error of a median depends on how many successive steps are on the same side of it. A run of more than 200 steps
-- is divided into blocks of successive steps, which bounds the work.
blocks AS (
    SELECT
        session_id, run_id, attempt, block_steps,
        (step - first_step) // block_steps AS block,
        avg((step_ns <= step_ns_median)::DOUBLE) AS low_share
    FROM step_stats
    JOIN sorted_steps USING (session_id, run_id, attempt)
    WHERE kind = 'measured' AND (step - first_step) // block_steps < steps // block_steps
    GROUP BY session_id, run_id, attempt, block_steps, block
),
over_blocks AS (
    SELECT
        session_id, run_id, attempt, block_steps,
        count(*) AS blocks,
        list(low_share ORDER BY block) AS low_shares,
        list_avg(low_shares) AS low_share
    FROM blocks
    GROUP BY session_id, run_id, attempt, block_steps
),
centred AS (
    SELECT *, list_transform(low_shares, lambda share: share - low_share) AS deviations
    FROM over_blocks
),
lags AS (
    SELECT
        session_id, run_id, attempt, block_steps, blocks, low_share, lag,
        list_dot_product(deviations[:blocks - lag], deviations[lag + 1:]) / blocks AS covariance
    FROM centred, unnest(range(blocks // 5 + 1)) AS _(lag)
    -- from the first lag without a positive covariance on, covariances are mostly noise
    QUALIFY bool_and(covariance > 0) OVER (PARTITION BY session_id, run_id, attempt ORDER BY lag)
),
-- The variance of the mean of the steps' sides, relative to that of independent steps. An estimated covariance of n
-- blocks is too small by 1/n of the sum of all covariances, which the divisor corrects.
autocorrelations AS (
    SELECT
        session_id, run_id, attempt,
        greatest(
            1,
            block_steps * list_sum(list(CASE WHEN lag = 0 THEN 1 ELSE 2 END * covariance ORDER BY lag))
            / (1 - 2 * max(lag) / blocks) / (low_share * (1 - low_share))
        ) AS estimate
    FROM lags
    GROUP BY session_id, run_id, attempt, block_steps, blocks, low_share
),
with_ranks AS (
    SELECT
        *,
        coalesce(estimate, 1) AS autocorrelation_steps,  -- steps that all take equally long have no covariance
        series_median_lo_rank(steps, autocorrelation_steps) AS lo_rank
    FROM sorted_steps
    LEFT JOIN autocorrelations USING (session_id, run_id, attempt)
),
final AS (
    SELECT
        over_ranks.*,
        step_ns_median,  -- median; all quantiles are measured values
        sorted_step_ns[lo_rank] AS step_ns_median_lo,
        sorted_step_ns[steps + 1 - lo_rank] AS step_ns_median_hi,  -- upper end of that interval
        autocorrelation_steps,  -- successive steps that count as one independent step: their autocorrelation time
        -- step_ns_p95: 95th percentile, nearest value; null below 20 steps, of which it would be the longest
        CASE WHEN steps >= 20 THEN sorted_step_ns[(95 * steps + 99) // 100] END AS step_ns_p95,
        -- step_ns_p99: 99th percentile, nearest value; null below 100 steps, of which it would be the longest
        CASE WHEN steps >= 100 THEN sorted_step_ns[(99 * steps + 99) // 100] END AS step_ns_p99,
        step_ns_mean, step_ns_std, step_ns_min, step_ns_max,
        step_ns_mean_first_half, step_ns_mean_second_half,
        max_minus_median_ns_mean,  -- last rank to wait minus median rank, mean over measured steps; see step_stats
        first_loss,  -- loss of step 0, warm-up included
        CASE WHEN measured_nonfinite = 0 THEN finite_mean_loss END AS mean_loss,
        final_loss,  -- loss of the last measured step
        nonfinite_losses  -- number of single-rank losses that were NaN or infinite, over all steps, warm-up included
        -- ranks: ranks that completed a step
        -- measured_steps: smallest count over ranks
        -- span_ns: longest span of a rank over measured steps, validations left out
        -- step_ns_median_lo: 95 % interval from this run's sorted steps; null below ten autocorrelation times
        -- step_ns_mean: mean step time over all ranks
        -- step_ns_std: sample standard deviation; null below two steps
        -- step_ns_min: shortest measured step
        -- step_ns_max: longest measured step
        -- step_ns_mean_first_half: over the first half of the measured steps, the shorter half if their number is odd
        -- step_ns_mean_second_half: likewise for the second half; if the two differ, step times drift
        -- data_ns_mean: mean over steps and ranks
        -- forward_ns_mean: mean over steps and ranks
        -- backward_ns_mean: mean over steps and ranks
        -- optimizer_ns_mean: mean over steps and ranks
        -- mean_loss: mean over measured steps; null if a loss was not finite
        -- memory_allocated_bytes_peak: largest over ranks
        -- memory_reserved_bytes_peak: largest over ranks
        -- memory_allocated_bytes_mean: mean over ranks and measured steps
        -- memory_reserved_bytes_mean: mean over ranks and measured steps
    FROM over_ranks
    JOIN over_steps USING (session_id, run_id, attempt)
    LEFT JOIN with_ranks USING (session_id, run_id, attempt)
)
SELECT * FROM final;
