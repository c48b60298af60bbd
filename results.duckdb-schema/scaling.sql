-- One row per session, case and placement (nodes, ranks_per_node, threads), also where no repeat is ok: then its
-- numbers are null. Speedup and efficiency are relative to the case's smallest ok n (fewest nodes among equals), or to
-- that of the case named by `baseline:`. Intervals: two-sided 95 %; the repeat is the unit; Student's t on log
-- throughput, Welch on the difference of logs; null below two repeats on either side; a baseline's own row is exact.
CREATE OR REPLACE VIEW scaling AS
WITH points AS MATERIALIZED (
    SELECT * FROM placements
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
with_t AS (
    SELECT
        *,
        t_quantile(repeat_df) * sqrt(variance_of_mean) AS half_width,
        t_quantile(ratio_df) * ratio_se AS ratio_half_width
    FROM ratios
),
with_intervals AS (
    SELECT
        *,
        ratio * exp(-CASE WHEN is_baseline THEN 0 ELSE ratio_half_width END) AS ratio_lo,
        ratio * exp(CASE WHEN is_baseline THEN 0 ELSE ratio_half_width END) AS ratio_hi,
        workers / baseline_workers AS relative_workers
    FROM with_t
),
judged AS (
    SELECT
        *,
        ratio * baseline_workers / workers AS efficiency,
        ratio_lo * baseline_workers / workers AS efficiency_lo,
        ratio_hi * baseline_workers / workers AS efficiency_hi,
        NOT (oversubscribed OR is_baseline OR throughput IS NULL OR scaling = 'none') AS is_judged,
        coalesce(throughput < next_smaller_throughput, false) AS retrograde
    FROM with_intervals
),
final AS (
    SELECT
        session_id, suite, case_name, scaling, strategy, workload, axis, workers, world_size, nodes, ranks_per_node,
        threads, placement, locality, device_type, device_name, precision, batch_per_rank, global_batch, oversubscribed,
        slurm_job_id, runs, repeats, throughput,
        throughput * exp(-half_width) AS throughput_lo,
        throughput * exp(half_width) AS throughput_hi,
        throughput * tokens_per_example AS tokens_per_s,
        baseline_case,                 -- the case that is compared with
        baseline_workers,              -- its n
        baseline_nodes,                -- its nodes
        is_baseline,                   -- whether that is this row
        -- speedup: throughput ÷ the baseline's × the baseline's workers; scaled speedup under weak scaling
        ratio * baseline_workers AS speedup,
        ratio_lo * baseline_workers AS speedup_lo,
        ratio_hi * baseline_workers AS speedup_hi,
        efficiency,                    -- speedup ÷ workers
        efficiency_lo,
        efficiency_hi,
        -- Karp-Flatt relative to the baseline: the textbook form drifts upward where the baseline has n > 1.
        CASE
            WHEN scaling = 'strong' AND relative_workers > 1
            THEN (1 / ratio - 1 / relative_workers) / (1 - 1 / relative_workers)
        END AS karp_flatt,  -- serial fraction, strong scaling only; null at the baseline
        -- Serial fraction after Gustafson, of scaled speedup.
        CASE
            WHEN scaling = 'weak' AND relative_workers > 1
            THEN (workers - ratio * baseline_workers) / (workers - 1)
        END AS gustafson,  -- serial fraction, weak scaling only; null at the baseline
        -- verdict: on efficiency; null for baselines, scaling none and oversubscribed rows
        CASE WHEN is_judged AND retrograde THEN 'retrograde' WHEN is_judged THEN verdict_of(efficiency) END AS verdict,
        CASE WHEN is_judged THEN verdict_of(efficiency_lo) END AS verdict_lo,  -- what it would be at efficiency_lo
        CASE WHEN is_judged THEN verdict_of(efficiency_hi) END AS verdict_hi,  -- what it would be at efficiency_hi
        step_ms, step_ms_mean, step_ms_std, elapsed_s,
        dataset_size / throughput AS time_per_epoch_s,
        best_val_loss, best_val_accuracy
    FROM judged
)
SELECT * FROM final;
