-- One row per session, case and placement (nodes, ranks_per_node, threads) that was run, even if no repeat is ok; its
-- throughput is then null. Figures are those of the median run, over all ok runs (`median_interval`); intervals are 95
-- %, null below three ok runs.
WITH gathered AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        any_value(scaling_mode) AS scaling_mode,
        any_value(strategy) AS strategy,
        any_value(workload) AS workload,
        any_value(axis) AS axis,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(placement) AS placement,
        any_value(locality) AS locality,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(precision) AS precision,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch,
        avg(examples_per_step) FILTER (status = 'ok') AS examples_per_step,  -- mean over ok repeats
        -- ranks_train: independent copies if a run's ranks combine no gradients; else as in run_summary
        min(ranks_train) AS ranks_train,
        -- unexplained_share: share of the time in pauses of which nothing is known, median over ok runs
        median(unexplained_share) FILTER (status = 'ok') AS unexplained_share,
        avg(left_out_share) FILTER (status = 'ok') AS left_out_share,  -- in pauses that throughput does not count
        -- hides_work: whether the user must say if unexplained pauses are training, because they take over a tenth
        any_value(pauses) IS NULL
            AND coalesce(median(run_summary.unexplained_share) FILTER (status = 'ok') > 0.1, false) AS hides_work,
        any_value(baseline) AS baseline,
        any_value(until) AS until,
        any_value(until_efficiency) AS until_efficiency,
        any_value(stops_early) AS stops_early,
        any_value(throughput_unit) AS throughput_unit,
        bool_or(is_published) AS is_published,
        bool_or(oversubscribed) AS oversubscribed,
        string_agg(DISTINCT slurm_job_id, ' ' ORDER BY slurm_job_id) AS slurm_job_id,
        count(*) AS runs,  -- number of last attempts with any status
        count(throughput) AS repeats,  -- number of ok runs
        -- logs: {block, value} of each repeat: its round and its ln(throughput)
        coalesce(
            list({'block': round, 'value': ln(throughput)} ORDER BY round, run_id) FILTER (throughput IS NOT NULL), []
        ) AS logs,
        CASE WHEN min(throughput) = max(throughput) THEN min(throughput) END AS only_throughput,
        variance_of_log(throughput) AS log_variance,  -- sample variance of ln(throughput); null below two repeats
        -- resolution: distance between two values that a file's times can have ÷ the time; null: not rounded
        exp(avg(ln(resolution)) FILTER (throughput IS NOT NULL)) AS resolution,
        -- nullif: DuckDB 1.4 takes the logarithm before it filters
        list(ln(nullif(step_ms, 0))) FILTER (throughput IS NOT NULL AND step_ms > 0) AS step_ms_logs,
        list(ln(nullif(elapsed_s, 0))) FILTER (throughput IS NOT NULL AND elapsed_s > 0) AS elapsed_s_logs,
        avg(step_ms_mean) FILTER (status = 'ok') AS step_ms_mean,  -- mean over repeats
        sqrt(avg(step_ms_std ** 2) FILTER (status = 'ok')) AS step_ms_std,  -- pooled over repeats
        avg(tokens_per_s / throughput) AS tokens_per_example,  -- mean over ok repeats
        any_value(time_per_epoch_s * throughput) AS dataset_size,
        avg(best_val_loss) FILTER (status = 'ok') AS best_val_loss_mean,  -- mean over ok repeats of a run's best
        -- best_val_accuracy_mean: mean over ok repeats of a run's best; accuracy, or the score of metric
        avg(best_val_accuracy) FILTER (status = 'ok') AS best_val_accuracy_mean,
        any_value(metric) AS metric
    FROM run_summary
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads
),
with_middles AS (
    SELECT
        *,
        widened(median_interval([run.value FOR run IN logs], stops_early), rounding_error(resolution)) AS of_throughput,
        median_interval(step_ms_logs, stops_early) AS of_step,
        median_interval(elapsed_s_logs, stops_early) AS of_run
    FROM gathered
),
final AS (
    SELECT
        * EXCLUDE (only_throughput, step_ms_logs, elapsed_s_logs, of_throughput, of_step, of_run),
        -- throughput: examples/s over the measured steps (imports: the whole time)
        coalesce(only_throughput, exp(of_throughput.point)) AS throughput,
        exp(of_throughput.lo) AS throughput_lo,
        exp(of_throughput.hi) AS throughput_hi,
        exp(of_step.point) AS step_ms,  -- a run's median step
        -- step_ms_lo: null if a repeat has no step_ms
        CASE WHEN len(step_ms_logs) = repeats THEN exp(of_step.lo) END AS step_ms_lo,
        CASE WHEN len(step_ms_logs) = repeats THEN exp(of_step.hi) END AS step_ms_hi,
        exp(of_run.point) AS elapsed_s,  -- start-up included
        -- slow_runs: number of ok runs that took over 1.2 times the median run; null below three, and if the times are
        -- rounded to a tenth or less
        CASE WHEN repeats > 2 AND coalesce(resolution, 0) <= 0.1 THEN len([
            run FOR run IN logs IF run.value < list_median([other.value FOR other IN logs]) - ln(1.2)
        ]) END AS slow_runs
    FROM with_middles
)
SELECT * FROM final;
