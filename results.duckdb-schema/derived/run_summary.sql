-- One row per run that measures (last attempt): what was requested, how it ended, and the results of its measured
-- steps. Probing runs of find_batch are in batch_limits only. Step times are E(s) - E(s-1) over all ranks; quantiles
-- are measured values. Throughput is null unless the run is ok.
WITH best_evals AS (
    SELECT
        session_id, run_id, attempt,
        min(val_loss) FILTER (isfinite(val_loss)) AS best_val_loss,  -- smallest over the run's validations
        max(val_accuracy) FILTER (isfinite(val_accuracy)) AS best_val_accuracy
    FROM evals
    GROUP BY session_id, run_id, attempt
),
-- An imported file's times are rounded: to the largest of these of which all are multiples, once or more.
of_files AS (
    SELECT session_id, rounded_to_s
    FROM runs
    CROSS JOIN (
        VALUES (60), (30), (10), (5), (1), (0.5), (0.1), (0.05), (0.01), (0.001), (1e-4), (1e-5), (1e-6)
    ) AS steps(rounded_to_s)
    WHERE whole_run_s > 0
    GROUP BY session_id, rounded_to_s
    HAVING max(abs(whole_run_s / rounded_to_s - round(whole_run_s / rounded_to_s))) < 1e-5
        AND min(round(whole_run_s / rounded_to_s)) >= 1
),
-- Time between the start of the first measured step and the end of the last one, and the pauses in it.
spans AS (
    SELECT
        session_id, run_id, attempt,
        sum(step_ns + left_out_ns + if(pauses_of(config) = 'count', 0, coalesce(pause_ns, 0))) / 1e9 AS all_s
    FROM step_stats
    JOIN runs USING (session_id, run_id, attempt)
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt
),
pause_sums AS (
    SELECT
        session_id, run_id, attempt,
        sum(pause_s) FILTER (kind = 'validation') AS validation_s,
        sum(pause_s) FILTER (kind = 'saving') AS saving_s,
        sum(pause_s) FILTER (kind = 'unexplained') AS unexplained_s
    FROM run_pauses
    GROUP BY session_id, run_id, attempt
),
roundings AS (
    SELECT session_id, max(rounded_to_s)::DOUBLE AS rounded_to_s FROM of_files GROUP BY session_id
),
throughputs AS (
    SELECT
        *,
        CASE WHEN status = 'ok' THEN coalesce(
            examples_per_step * measured_steps / nullif(span_ns / 1e9, 0),
            reported_throughput,
            coalesce(whole_run_examples, 1) / whole_run_s
        ) END AS throughput
    FROM last_attempts()
    LEFT JOIN run_stats USING (session_id, run_id, attempt)
    LEFT JOIN best_evals USING (session_id, run_id, attempt)
    LEFT JOIN roundings USING (session_id)
    LEFT JOIN spans USING (session_id, run_id, attempt)
    LEFT JOIN pause_sums USING (session_id, run_id, attempt)
    WHERE probe IS NOT TRUE
),
final AS (
    SELECT
        session_id, run_id, attempt, suite, case_name, workload, strategy, scaling_mode, axis, workers,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        world_size, nodes, ranks_per_node, threads,
        placement_of(nodes, ranks_per_node, axis, threads) AS placement,
        oversubscribed, repeat,
        -- round: as in runs; null if the files say that a size ran twice in it
        CASE
            WHEN count(*) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads, round) = 1
            THEN round
        END AS round,
        position,
        -- locality: within_node, across_nodes
        CASE WHEN nodes > 1 THEN 'across_nodes' ELSE 'within_node' END AS locality,
        device_type, device_name, precision, batch_per_rank, global_batch, examples_per_step, parameters,
        recorded_by ->> '$.examples' AS examples_counted,  -- how a command's examples were counted; null for others
        ranks_train,  -- one model, independent copies; null unless a command, for one rank, and if unknown
        data_source, baseline, until, until_efficiency, until_loss,
        -- stops_early: whether measure.until or until_efficiency is set, so that intervals need a wider quantile
        until IS NOT NULL OR until_efficiency IS NOT NULL AS stops_early,
        status, error, failed_rank, failed_node, started_at, slurm_job_id, tags,
        steps_completed,
        measured_steps,
        counted_steps,  -- as in runs
        -- step_ms: median of the measured steps over all ranks; the interval is over these steps
        step_ns_median / 1e6 AS step_ms,
        step_ns_median_lo / 1e6 AS step_ms_lo,
        step_ns_median_hi / 1e6 AS step_ms_hi,
        step_ns_mean / 1e6 AS step_ms_mean,  -- mean of the measured steps over all ranks
        step_ns_std / 1e6 AS step_ms_std,  -- sample standard deviation over steps
        step_ns_min / 1e6 AS step_ms_min,  -- shortest measured step
        step_ns_max / 1e6 AS step_ms_max,  -- longest measured step
        step_ns_p95 / 1e6 AS step_ms_p95,  -- 95th percentile, a measured value; null below 20 steps
        step_ns_p99 / 1e6 AS step_ms_p99,  -- 99th percentile, a measured value; null below 100 steps
        step_ns_std / step_ns_mean AS cv,  -- standard deviation ÷ mean of the step time
        throughput,                                            -- examples/s
        throughput * tokens_per_example AS tokens_per_s,  -- null if the workload has no tokens
        first_loss, mean_loss, final_loss,
        nonfinite_losses,  -- number of single-rank losses that were NaN or infinite, over all steps, warm-up included
        best_val_loss,
        best_val_accuracy,  -- accuracy, or the score that metric names; largest over the run's validations
        metric,
        -- throughput: examples per second over the measured steps, for imports over the whole time or as their file
        -- reports it; null unless ok
        -- throughput_unit: examples/s, or trainings/s if an import does not give its number of examples; of a published
        -- table also tokens/s, GPU peaks (MFU x GPUs)
        coalesce(reported_unit, CASE
            WHEN whole_run_s IS NOT NULL AND whole_run_examples IS NULL THEN 'trainings/s' ELSE 'examples/s'
        END) AS throughput_unit,
        -- is_published: whether a source reports the throughput, so that repeats are unknown
        reported_throughput IS NOT NULL AS is_published,
        -- time_per_epoch_s: examples in an epoch ÷ throughput
        coalesce(dataset_size / throughput, whole_run_s / whole_run_epochs) AS time_per_epoch_s,
        memory_allocated_bytes_peak AS peak_memory_allocated_bytes,   -- largest over ranks
        memory_reserved_bytes_peak AS peak_memory_reserved_bytes,  -- null on a CPU
        memory_allocated_bytes_mean AS mean_memory_allocated_bytes,   -- mean over ranks and measured steps
        memory_reserved_bytes_mean AS mean_memory_reserved_bytes,  -- null on a CPU
        -- data_ms: waiting for the batch and its copy; each phase is a mean over ranks and measured steps
        data_ns_mean / 1e6 AS data_ms,
        forward_ns_mean / 1e6 AS forward_ms,  -- model and loss
        backward_ns_mean / 1e6 AS backward_ms,  -- gradients, with the communication that overlaps them
        optimizer_ns_mean / 1e6 AS optimizer_ms,  -- clipping, optimizer, schedule, scaler, zero_grad
        -- data_share: share of the data phase in the four phases
        data_ns_mean / (data_ns_mean + forward_ns_mean + backward_ns_mean + optimizer_ns_mean) AS data_share,
        -- resolution: what an imported file rounds its times to ÷ the time; null: not rounded
        rounded_to_s / whole_run_s AS resolution,
        span_ns / 1e9 AS span_s,                               -- duration of the measured steps that throughput counts
        pauses_of(config) AS pauses,  -- --pauses of a command: count, leave-out; null: only unexplained ones count
        -- validation_share: share of the time between the start of the first measured step and the end of the last one
        coalesce(validation_s / all_s, 0) AS validation_share,
        coalesce(saving_s / all_s, 0) AS saving_share,  -- in pauses in which it saves
        coalesce(unexplained_s / all_s, 0) AS unexplained_share,  -- in pauses of which nothing is known
        -- left_out_share: share of that time in pauses that throughput does not count
        CASE pauses
            WHEN 'count' THEN 0
            WHEN 'leave-out' THEN validation_share + saving_share + unexplained_share
            ELSE validation_share + saving_share
        END AS left_out_share,
        compile_s, measured_recompiles,
        setup_s,
        elapsed_s  -- start to end of the run, start-up included
    FROM throughputs
)
SELECT * FROM final;
