-- One row per session, case and placement (nodes, ranks_per_node, threads) that was run, even if no repeat is ok; its
-- throughput is then null. Throughput is the geometric mean over the ok repeats that are not slow (`slow_runs`);
-- log_variance is the variance of their ln(throughput), the basis of intervals.
WITH summaries AS (
    SELECT
        * REPLACE (CASE WHEN slowdown IS NULL THEN throughput END AS throughput),
        slowdown,
        status = 'ok' AND slowdown IS NULL AS counts,
        CASE WHEN counts AND step_ms > 0 THEN step_ms END AS ok_step_ms,
        CASE WHEN counts AND elapsed_s > 0 THEN elapsed_s END AS ok_elapsed_s
    FROM run_summary
    LEFT JOIN (FROM slow_runs SELECT session_id, run_id, attempt, slowdown) AS slow
        USING (session_id, run_id, attempt)
),
final AS (
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
        any_value(baseline) AS baseline,
        any_value(until) AS until,
        any_value(until_efficiency) AS until_efficiency,
        any_value(stops_early) AS stops_early,
        any_value(throughput_unit) AS throughput_unit,
        bool_or(is_published) AS is_published,
        bool_or(oversubscribed) AS oversubscribed,
        string_agg(DISTINCT slurm_job_id, ' ' ORDER BY slurm_job_id) AS slurm_job_id,
        count(*) AS runs,  -- number of last attempts with any status
        count(throughput) AS repeats,  -- number of ok runs that are not slow
        count(slowdown) AS slow_repeats,  -- number of ok runs that are slow, and do not count here
        -- logs: {block, value} of each repeat: its round and its ln(throughput)
        coalesce(
            list({'block': round, 'value': ln(throughput)} ORDER BY round, run_id) FILTER (throughput IS NOT NULL), []
        ) AS logs,
        variance_of_log(throughput) AS log_variance,  -- sample variance of ln(throughput); null below two repeats
        -- throughput: examples/s over the measured steps (imports: the whole time); geometric mean over repeats
        geometric_mean(throughput) AS throughput,
        geometric_mean(ok_step_ms) AS step_ms,  -- geometric mean over repeats of a run's median step
        -- step_ms_log_variance: sample variance of ln(step_ms); null if a repeat has no step_ms
        CASE WHEN count(ok_step_ms) = count(throughput) THEN variance_of_log(ok_step_ms) END AS step_ms_log_variance,
        avg(step_ms_mean) FILTER (counts) AS step_ms_mean,  -- mean over repeats
        sqrt(avg(step_ms_std ** 2) FILTER (counts)) AS step_ms_std,  -- pooled over repeats
        geometric_mean(ok_elapsed_s) AS elapsed_s,  -- geometric mean over repeats, start-up included
        -- elapsed_s_log_variance: sample variance of ln(elapsed_s); null if a repeat has no elapsed_s
        CASE WHEN count(ok_elapsed_s) = count(throughput) THEN variance_of_log(ok_elapsed_s) END
            AS elapsed_s_log_variance,
        avg(tokens_per_s / throughput) AS tokens_per_example,  -- mean over ok repeats
        any_value(time_per_epoch_s * throughput) AS dataset_size,
        avg(best_val_loss) FILTER (status = 'ok') AS best_val_loss_mean,  -- mean over ok repeats of a run's best
        -- best_val_accuracy_mean: mean over ok repeats of a run's best; accuracy, or the score of metric
        avg(best_val_accuracy) FILTER (status = 'ok') AS best_val_accuracy_mean,
        any_value(metric) AS metric
    FROM summaries
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads
)
SELECT * FROM final;
