-- One row per session, case and placement (nodes, ranks_per_node, threads), also where no repeat is ok: then its
-- numbers are null. Speedup and efficiency are relative to the case's smallest ok n (fewest nodes among equals), or to
-- that of the case named by `baseline:`. Intervals: two-sided 95 %; the repeat is the unit; Student's t on log
-- throughput, Welch on the difference of logs; null below two repeats on either side; a baseline's own row is exact.
CREATE OR REPLACE VIEW scaling AS
WITH summaries AS (
    SELECT * FROM run_summary
),
points AS MATERIALIZED (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads,
        any_value(scaling) AS scaling,
        any_value(strategy) AS strategy,
        any_value(workload) AS workload,
        any_value(axis) AS axis,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(locality) AS locality,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(precision) AS precision,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch,
        any_value(baseline) AS baseline,
        bool_or(oversubscribed) AS oversubscribed,
        string_agg(DISTINCT slurm_job_id, ' ' ORDER BY slurm_job_id) AS slurm_job_id,
        count(*) AS runs,
        count(throughput) AS repeats,
        avg(ln(throughput)) AS log_mean,
        -- Equal repeats have no variance; rounding must not invent one.
        CASE
            WHEN count(throughput) < 2 THEN NULL
            WHEN min(throughput) = max(throughput) THEN 0
            ELSE var_samp(ln(throughput))
        END AS log_variance,
        CASE
            WHEN min(throughput) = max(throughput) THEN min(throughput)
            ELSE exp(avg(ln(throughput)))
        END AS throughput,
        avg(step_ms) FILTER (status = 'ok') AS step_ms,
        avg(step_ms_mean) FILTER (status = 'ok') AS step_ms_mean,
        sqrt(avg(step_ms_std ** 2) FILTER (status = 'ok')) AS step_ms_std,
        avg(elapsed_s) FILTER (status = 'ok') AS elapsed_s,
        any_value(tokens_per_s / throughput) AS tokens_per_example,
        any_value(time_per_epoch_s * throughput) AS dataset_size,
        min(best_val_loss) AS best_val_loss,
        max(best_val_accuracy) AS best_val_accuracy
    FROM summaries
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads
),
baselines AS (
    SELECT
        session_id AS baseline_session_id,
        case_name AS baseline_case,
        workers AS baseline_workers,
        nodes AS baseline_nodes,
        ranks_per_node AS baseline_ranks_per_node,
        threads AS baseline_threads,
        repeats AS baseline_repeats,
        throughput AS baseline_throughput,
        log_mean AS baseline_log_mean,
        log_variance AS baseline_log_variance
    FROM points
    WHERE repeats > 0
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads
    ) = 1
),
smaller AS (
    -- Of placements with the same n the one that a baseline would be taken from stands for n.
    SELECT
        session_id AS smaller_session_id,
        case_name AS smaller_case_name,
        workers AS smaller_workers,
        lag(throughput) OVER (PARTITION BY session_id, case_name ORDER BY workers) AS next_smaller_throughput
    FROM (
        SELECT * FROM points
        WHERE repeats > 0 AND NOT oversubscribed
        QUALIFY row_number() OVER (
            PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
        ) = 1
    ) AS one_per_size
),
paired AS (
    SELECT
        points.*,
        baselines.*,
        next_smaller_throughput,
        coalesce(
            repeats > 0 AND case_name = baseline_case AND nodes = baseline_nodes
                AND ranks_per_node = baseline_ranks_per_node AND threads = baseline_threads,
            false
        ) AS is_baseline,
        log_variance / nullif(repeats, 0) AS variance_of_mean,
        baseline_log_variance / baseline_repeats AS baseline_variance_of_mean
    FROM points
    LEFT JOIN baselines
        ON baseline_session_id = points.session_id AND baseline_case = coalesce(baseline, case_name)
    LEFT JOIN smaller
        ON smaller_session_id = points.session_id AND smaller_case_name = points.case_name
        AND smaller_workers = points.workers
),
ratios AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN is_baseline THEN 1 ELSE throughput / baseline_throughput END AS ratio,
        CASE WHEN repeats > 1 THEN (repeats - 1)::DOUBLE END AS repeat_df,
        sqrt(variance_of_mean + baseline_variance_of_mean) AS ratio_se,
        -- Satterthwaite; where neither side varies any t times zero is zero, so that df = 1 serves.
        CASE
            WHEN variance_of_mean + baseline_variance_of_mean > 0
            THEN (variance_of_mean + baseline_variance_of_mean) ** 2
                / (variance_of_mean ** 2 / (repeats - 1) + baseline_variance_of_mean ** 2 / (baseline_repeats - 1))
            ELSE 1
        END AS ratio_df
    FROM paired
),
-- ln t is close to linear in 1/df between the rows of student_t.
with_t AS (
    SELECT
        ratios.*,
        exp(ln(own.t) + (1 / repeat_df - 1 / own.df) / (1 / own.next_df - 1 / own.df) * ln(own.next_t / own.t))
            * sqrt(variance_of_mean) AS half_width,
        exp(ln(welch.t) + (1 / ratio_df - 1 / welch.df) / (1 / welch.next_df - 1 / welch.df)
            * ln(welch.next_t / welch.t)) * ratio_se AS ratio_half_width
    FROM ratios
    LEFT JOIN student_t AS own ON repeat_df >= own.df AND repeat_df < own.next_df
    LEFT JOIN student_t AS welch ON ratio_df >= welch.df AND ratio_df < welch.next_df
),
judged AS (
    SELECT
        *,
        ratio * exp(-CASE WHEN is_baseline THEN 0 ELSE ratio_half_width END) AS ratio_lo,
        ratio * exp(CASE WHEN is_baseline THEN 0 ELSE ratio_half_width END) AS ratio_hi,
        ratio * baseline_workers / workers AS efficiency,
        -- 0.7499999999999999 is 0.75: thresholds are not left to rounding.
        round(ratio * baseline_workers / workers, 9) AS rounded_efficiency,
        workers / baseline_workers AS relative_workers,
        coalesce(throughput < next_smaller_throughput, false) AS retrograde
    FROM with_t
),
final AS (
    SELECT
        session_id, suite, case_name, scaling, strategy, workload, axis, workers, world_size, nodes, ranks_per_node,
        threads, locality, device_type, device_name, precision, batch_per_rank, global_batch, oversubscribed,
        slurm_job_id, runs, repeats, throughput,
        throughput * exp(-half_width) AS throughput_lo,
        throughput * exp(half_width) AS throughput_hi,
        throughput * tokens_per_example AS tokens_per_s,
        baseline_case, baseline_workers, baseline_nodes, is_baseline,
        ratio * baseline_workers AS speedup,
        ratio_lo * baseline_workers AS speedup_lo,
        ratio_hi * baseline_workers AS speedup_hi,
        efficiency,
        ratio_lo * baseline_workers / workers AS efficiency_lo,
        ratio_hi * baseline_workers / workers AS efficiency_hi,
        -- Karp-Flatt relative to the baseline: the textbook form drifts upward where the baseline has n > 1.
        CASE
            WHEN scaling = 'strong' AND relative_workers > 1
            THEN (1 / ratio - 1 / relative_workers) / (1 - 1 / relative_workers)
        END AS karp_flatt,
        -- Serial fraction after Gustafson, of scaled speedup.
        CASE
            WHEN scaling = 'weak' AND relative_workers > 1
            THEN (workers - ratio * baseline_workers) / (workers - 1)
        END AS gustafson,
        CASE
            WHEN oversubscribed OR is_baseline OR throughput IS NULL OR scaling = 'none' THEN NULL
            WHEN retrograde THEN 'retrograde'
            WHEN rounded_efficiency > 1.05 THEN 'superlinear'
            WHEN rounded_efficiency >= 0.90 THEN 'excellent'
            WHEN rounded_efficiency >= 0.75 THEN 'good'
            WHEN rounded_efficiency >= 0.50 THEN 'acceptable'
            WHEN rounded_efficiency < 0.50 THEN 'poor'
        END AS verdict,
        step_ms, step_ms_mean, step_ms_std, elapsed_s,
        dataset_size / throughput AS time_per_epoch_s,
        best_val_loss, best_val_accuracy
    FROM judged
)
SELECT * FROM final;
