-- One row per session, case and placement (nodes, ranks_per_node, threads), even if no repeat is ok; its numbers are
-- then null. Speedup and efficiency are relative to the case's smallest ok n (fewest nodes among equals), or to that of
-- the case named by `baseline:`. Figures are *typical*, those of the median run, for which slow runs (`slow_runs`) do
-- not count. Those named `expected_` are ratios of mean times in the long run, slow runs included. Intervals: two-sided
-- 95 %; the repeat is the unit; Student's t on log throughput; for ratios on its differences within rounds, or Welch's
-- t where rounds are unknown (`rounds` is then null); null below two repeats on either side, and for a ratio if the
-- median run may be a slow one; a baseline's own row is exact. If the baseline ran on another kind of device, in
-- another precision, with another batch or another workload, there is a speedup but no efficiency and no verdict: the
-- ratio then includes the effect of that difference. Ranks of a command that train independent copies of the model have
-- neither speedup nor efficiency.
WITH baselines AS (
    SELECT
        session_id AS baseline_session_id,
        case_name AS baseline_case,
        workers AS baseline_workers,
        nodes AS baseline_nodes,
        ranks_per_node AS baseline_ranks_per_node,
        threads AS baseline_threads,
        device_type AS baseline_device_type,
        axis AS baseline_axis,
        workload AS baseline_workload,
        precision AS baseline_precision,
        global_batch AS baseline_global_batch,
        batch_per_rank AS baseline_batch_per_rank,
        world_size AS baseline_world_size,
        repeats AS baseline_repeats,
        slow_repeats AS baseline_slow_repeats,
        logs AS baseline_logs,
        throughput AS baseline_throughput,
        log_variance AS baseline_log_variance
    FROM placements
    WHERE repeats > 0
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads
    ) = 1
),
smaller AS (
    -- Among placements with the same n, the one that would serve as a baseline represents n.
    SELECT
        session_id AS larger_session_id,
        case_name AS larger_case_name,
        workers AS larger_workers,
        lag(workers) OVER by_size AS next_smaller_workers,
        lag(throughput) OVER by_size AS next_smaller_throughput,
        lag(repeats) OVER by_size AS next_smaller_repeats,
        lag(logs) OVER by_size AS next_smaller_logs,
        lag(log_variance) OVER by_size AS next_smaller_log_variance
    FROM (
        SELECT * FROM placements
        WHERE repeats > 0 AND NOT oversubscribed
        QUALIFY row_number() OVER (
            PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
        ) = 1
    ) AS one_per_size
    WINDOW by_size AS (PARTITION BY session_id, case_name ORDER BY workers)
),
paired AS (
    SELECT
        placements.*,
        baselines.*,
        next_smaller_workers, next_smaller_throughput, next_smaller_repeats, next_smaller_log_variance,
        differences_within(logs, baseline_logs) AS differences,
        differences_within(logs, next_smaller_logs) AS smaller_differences,
        coalesce(len(differences) >= greatest(2, repeats / 2, baseline_repeats / 2), false) AS is_paired,
        are_enough_differences(smaller_differences, repeats, next_smaller_repeats) AS is_smaller_paired,
        coalesce(
            repeats > 0 AND case_name = baseline_case AND nodes = baseline_nodes
                AND ranks_per_node = baseline_ranks_per_node AND threads = baseline_threads,
            false
        ) AS is_baseline,
        coalesce(baseline_device_type = device_type, true)
            AND coalesce(baseline_workload = workload, true)
            AND coalesce(baseline_precision = precision, true)
            AND coalesce(
                abs(ln(if(
                    scaling_mode = 'strong', global_batch / baseline_global_batch,
                    batch_per_rank / baseline_batch_per_rank
                ))) <= if(workload = 'command', 0.02, 0),  -- batches of commands are counted
                true
            ) AS is_alike
    FROM placements
    LEFT JOIN baselines
        ON baseline_session_id = placements.session_id AND baseline_case = coalesce(baseline, case_name)
        AND ranks_train IS DISTINCT FROM 'independent copies'
    LEFT JOIN smaller
        ON larger_session_id = placements.session_id AND larger_case_name = placements.case_name
        AND larger_workers = placements.workers
),
-- A few rounds say little about how much a size varies; with the other sizes of its case they say more. All share the
-- baseline's runs, so their variances are correlated by about a quarter.
pooled AS (
    SELECT
        *,
        sum(len(differences) - 1) OVER family AS pooled_degrees,
        sum((len(differences) - 1) * variance_of(differences)) OVER family / pooled_degrees AS pooled_variance,
        greatest(1, 4 * pooled_degrees / (count(*) OVER family + 3)) AS pooled_df
    FROM paired
    WINDOW family AS (PARTITION BY session_id, case_name, is_paired AND NOT is_baseline AND NOT oversubscribed)
),
-- The median of all runs is slower than the mean of those that are not slow: it is one of their slower half.
shifts AS (
    SELECT
        pooled.*,
        disturbances.* EXCLUDE (session_id),
        slow_share(rate_per_rank, world_size) AS slow_share,
        slow_runs >= 4 AND slow_share >= 0.4
            OR slow_repeats >= greatest(4, repeats)
            OR baseline_slow_repeats >= greatest(4, baseline_repeats) AS may_be_slow,
        CASE WHEN slow_runs > 0 AND is_paired AND NOT (is_baseline OR oversubscribed) THEN sqrt(pooled_variance / 2) * (
            median_shift(slow_share(rate_per_rank, baseline_world_size)) - median_shift(slow_share)
        ) ELSE 0 END AS shift
    FROM pooled
    LEFT JOIN (SELECT * EXCLUDE (runs) FROM disturbances) AS disturbances USING (session_id)
),
ratios AS MATERIALIZED (
    SELECT
        *,
        CASE
            WHEN is_baseline THEN 1
            WHEN is_paired AND (shift <> 0 OR len(differences) < greatest(repeats, baseline_repeats))
            THEN exp(mean_of(differences) + shift)
            ELSE throughput / baseline_throughput
        END AS ratio,
        CASE
            WHEN is_smaller_paired THEN mean_of(smaller_differences) ELSE ln(throughput / next_smaller_throughput)
        END AS log_gain,
        -- Two means of `units` with the variances a and b; the mean of differences counts as one of them.
        CASE WHEN is_paired THEN variance_of(differences) ELSE log_variance END AS unit_variance,
        CASE WHEN is_paired THEN len(differences) ELSE repeats END AS units,
        CASE WHEN is_paired THEN 0 ELSE baseline_log_variance END AS other_variance,
        CASE WHEN is_paired THEN 2 ELSE baseline_repeats END AS other_units,
        unit_variance / units AS a,
        other_variance / other_units AS b,
        CASE WHEN is_paired THEN units ELSE least(repeats, baseline_repeats) END AS pairs,
        (a + b) * pairs AS pair_variance,
        log_variance / repeats AS of_size,
        next_smaller_log_variance / next_smaller_repeats AS of_smaller,
        CASE WHEN is_smaller_paired THEN variance_of(smaller_differences) / len(smaller_differences)
            ELSE of_size + of_smaller
        END AS smaller_variance
    FROM shifts
),
with_df AS (
    SELECT
        *,
        welch_df(a, units, b, other_units) AS ratio_df,
        CASE
            WHEN is_smaller_paired THEN len(smaller_differences) - 1
            ELSE welch_df(of_size, repeats, of_smaller, next_smaller_repeats)
        END AS smaller_df
    FROM ratios
),
with_t AS (
    SELECT
        *,
        t_quantile_for(CASE WHEN repeats > 1 THEN repeats - 1 END, stops_early) / sqrt(repeats) AS half_width_of_sd,
        t_quantile_for(ratio_df, stops_early) * sqrt(a + b) AS own_half_width,
        CASE
            WHEN is_baseline THEN 0
            WHEN repeats > 1 AND baseline_repeats > 1 THEN
                CASE
                    WHEN is_paired AND units < 4 AND NOT oversubscribed
                        AND units < greatest(repeats + slow_repeats, baseline_repeats + baseline_slow_repeats)
                    THEN least(own_half_width, greatest(
                        t_quantile_for(pooled_df, stops_early) * sqrt(pooled_variance / units),
                        t_quantile_for(2, stops_early) * sqrt(unit_variance / units)
                    ))
                    ELSE own_half_width
                END
        END AS ratio_half_width,
        t_quantile_for(smaller_df, stops_early) * sqrt(smaller_variance) AS smaller_half_width
    FROM with_df
),
with_half_widths AS (
    SELECT
        *,
        half_width_of_sd * sqrt(log_variance) AS throughput_half_width,
        half_width_of_sd * sqrt(step_ms_log_variance) AS step_ms_half_width,
        half_width_of_sd * sqrt(elapsed_s_log_variance) AS elapsed_s_half_width
    FROM with_t
),
with_intervals AS (
    SELECT
        *,
        throughput * exp(-throughput_half_width) AS throughput_lo,
        throughput * exp(throughput_half_width) AS throughput_hi,
        CASE WHEN is_baseline OR NOT coalesce(may_be_slow, false) THEN ratio_half_width END AS typical_half_width,
        ratio * exp(-typical_half_width) AS ratio_lo,
        ratio * exp(typical_half_width) AS ratio_hi,
        workers / baseline_workers AS relative_workers
    FROM with_half_widths
),
-- From typical to expected. The point takes the rate of slow runs to be a rank's, so that larger sizes are hit more
-- often. The interval also holds if it is the same for all runs: then the expected ratio is the typical one. The errors
-- of the typical ratio, of the rate and of the slowdown are independent, so their squares add up.
with_slowing AS (
    SELECT
        *,
        CASE WHEN slow_runs > 0 AND NOT (oversubscribed OR is_baseline) THEN
            log_disturbance(rate_per_rank, slowdown, world_size, baseline_world_size)
        END AS slowing
    FROM with_intervals
),
with_alternatives AS (
    SELECT
        *,
        -- At high rates both sizes are nearly always slow, so the extremes need not be at the ends.
        [
            log_disturbance(
                rate_per_rank_lo + (rate_per_rank_hi - rate_per_rank_lo) * part / 50, slowdown, world_size,
                baseline_world_size
            ) - slowing
            FOR part IN range(51)
        ] AS at_other_rates,
        coalesce(log_disturbance(rate_per_rank, slowdown_lo, world_size, baseline_world_size) - slowing, 0)
            AS if_shorter,
        coalesce(log_disturbance(rate_per_rank, slowdown_hi, world_size, baseline_world_size) - slowing, 0)
            AS if_longer,
        ratio * exp(-slowing) AS expected_ratio
    FROM with_slowing
),
with_disturbances AS (
    SELECT
        *,
        least(0, list_min(at_other_rates)) AS if_fewer,
        greatest(0, list_max(at_other_rates)) AS if_more,
        expected_ratio * exp(-sqrt(ratio_half_width ** 2 + if_more ** 2 + if_longer ** 2)) AS if_worst,
        expected_ratio * exp(sqrt(ratio_half_width ** 2 + if_fewer ** 2 + if_shorter ** 2)) AS if_best,
        CASE WHEN if_worst > 0 THEN least(if_worst, ratio * exp(-ratio_half_width)) END AS expected_ratio_lo,
        CASE WHEN if_best > 0 THEN greatest(if_best, ratio * exp(ratio_half_width)) END AS expected_ratio_hi
    FROM with_alternatives
),
different_trainings AS (
    -- Two repeats: one may be an accident.
    SELECT session_id, case_name, nodes, ranks_per_node, threads, true AS trains_differently
    FROM loss_parity
    WHERE verdict = 'different' AND status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
    HAVING count(*) > 1
),
-- Whether throughput falls from the next smaller size, by Holm's correction over the session: of sizes that are equally
-- fast, some would otherwise be called slower in more than one session of twenty. Unknown without an interval.
falls AS (
    SELECT
        *,
        CASE
            WHEN smaller_half_width IS NOT NULL AND scaling_mode <> 'none' AND NOT oversubscribed
                AND NOT coalesce(may_be_slow, false)
            THEN p_not_below(log_gain, sqrt(smaller_variance), smaller_df)
        END AS fall_p
    FROM with_disturbances
),
fall_steps AS (
    SELECT *, holm_step(fall_p, session_id) AS fall_step FROM falls
),
with_falls AS (
    SELECT
        *,
        coalesce(log_gain < -smaller_half_width AND holm_p_of(fall_p, fall_step, session_id) <= 0.05, false)
            AS is_slower
    FROM fall_steps
),
judged AS MATERIALIZED (
    SELECT
        *,
        CASE WHEN is_alike AND scaling_mode <> 'none' THEN baseline_workers / workers END AS share,
        ratio * share AS efficiency,
        ratio_lo * share AS efficiency_lo,
        ratio_hi * share AS efficiency_hi,
        is_alike AND NOT (oversubscribed OR is_baseline OR throughput IS NULL OR scaling_mode = 'none') AS is_compared,
        is_compared AND trains_differently IS NULL AS is_judged,
        -- verdict_lo: verdict if the efficiency were efficiency_lo
        CASE WHEN is_judged THEN verdict_of(efficiency_lo) END AS verdict_lo,
        -- verdict_hi: verdict if the efficiency were efficiency_hi
        CASE WHEN is_judged THEN verdict_of(efficiency_hi) END AS verdict_hi,
        CASE
            WHEN is_alike AND scaling_mode = 'strong' AND relative_workers > 1
            THEN relative_workers / (relative_workers - 1)
        END AS karp_flatt_scale,
        CASE
            WHEN is_alike AND scaling_mode = 'weak' AND relative_workers > 1 THEN baseline_workers / (workers - 1)
        END AS gustafson_scale
    FROM with_falls
    LEFT JOIN different_trainings USING (session_id, case_name, nodes, ranks_per_node, threads)
),
-- The number of further repeats is computed only if the interval does not show that none is needed.
open_ones AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, efficiency, ratio_df, pairs, pair_variance,
        stops_early
    FROM judged
    WHERE verdict_lo <> verdict_hi
),
needs AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        units_to_decide(
            ln(efficiency), pair_variance, ratio_df, pairs, verdict_regions(), is_stopped_early := stops_early
        ) AS repeats_to_a_verdict
    FROM open_ones
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, workload, axis, workers, world_size, nodes,
        ranks_per_node,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        threads, placement, locality, device_type, device_name, precision, batch_per_rank, global_batch,
        examples_per_step, ranks_train, oversubscribed, slurm_job_id, runs, repeats, slow_repeats, throughput,
        throughput_lo,
        throughput_hi,
        throughput_unit,
        is_published,
        throughput * tokens_per_example AS tokens_per_s,
        throughput_lo * tokens_per_example AS tokens_per_s_lo,
        throughput_hi * tokens_per_example AS tokens_per_s_hi,
        baseline_case,                 -- case of the baseline
        baseline_workers,              -- n of the baseline
        baseline_throughput,           -- throughput of the baseline
        baseline_axis,                 -- what the baseline's workers are: ranks, threads
        baseline_nodes,                -- nodes of the baseline
        baseline_ranks_per_node,       -- ranks per node of the baseline
        baseline_threads,              -- threads per rank of the baseline
        baseline_device_type,          -- kind of device of the baseline: cpu, cuda
        baseline_workload,             -- workload of the baseline
        baseline_precision,            -- precision of the baseline
        baseline_global_batch,         -- global batch of the baseline
        baseline_batch_per_rank,       -- batch per rank of the baseline
        baseline_world_size,           -- ranks of the baseline
        is_baseline,                   -- whether this row is the baseline
        -- rounds: within which the ratio to the baseline is estimated; null: the means of repeats are compared
        CASE WHEN is_paired AND NOT is_baseline THEN units END AS rounds,
        next_smaller_workers,  -- next smaller n of the case with ok runs, not oversubscribed; null at the smallest
        next_smaller_throughput,       -- throughput there, on the fewest nodes
        -- speedup: throughput ÷ the baseline's × the baseline's workers; under weak scaling the scaled speedup
        ratio * baseline_workers AS speedup,
        ratio_lo * baseline_workers AS speedup_lo,
        ratio_hi * baseline_workers AS speedup_hi,
        -- efficiency: speedup ÷ workers; null if not scaled, or over another device, precision, batch or workload
        efficiency,
        efficiency_lo,
        efficiency_hi,
        -- expected_speedup: in the long run, from mean times; null at the baseline and in a session without a slow run
        expected_ratio * baseline_workers AS expected_speedup,
        expected_ratio_lo * baseline_workers AS expected_speedup_lo,
        expected_ratio_hi * baseline_workers AS expected_speedup_hi,
        -- expected_efficiency: expected_speedup ÷ workers; null where efficiency is
        expected_ratio * share AS expected_efficiency,
        expected_ratio_lo * share AS expected_efficiency_lo,
        expected_ratio_hi * share AS expected_efficiency_hi,
        slow_runs,                     -- number of the session's slow runs; null if no size has three ok runs
        -- slow_share: probability that a run of this size is slow, at the rate of the whole session
        CASE WHEN NOT oversubscribed THEN slow_share END AS slow_share,
        CASE WHEN NOT oversubscribed THEN slow_share(rate_per_rank_hi, world_size) END AS slow_share_hi,
        -- may_be_slow: whether the median run may be slow, because many runs are; ratios then have no interval
        coalesce(may_be_slow, false) AS may_be_slow,
        -- Karp-Flatt relative to the baseline: the textbook form drifts upward if the baseline has n > 1. Both serial
        -- fractions fall as the ratio rises, so their lower end belongs to the ratio's upper end.
        -- karp_flatt: serial fraction, strong scaling only; null at the baseline
        (1 / ratio - 1 / relative_workers) * karp_flatt_scale AS karp_flatt,
        (1 / ratio_hi - 1 / relative_workers) * karp_flatt_scale AS karp_flatt_lo,
        (1 / ratio_lo - 1 / relative_workers) * karp_flatt_scale AS karp_flatt_hi,
        -- gustafson: serial fraction, weak scaling only; null at the baseline
        (relative_workers - ratio) * gustafson_scale AS gustafson,
        (relative_workers - ratio_hi) * gustafson_scale AS gustafson_lo,
        (relative_workers - ratio_lo) * gustafson_scale AS gustafson_hi,
        -- verdict: by efficiency (two if the interval reaches two, undecided if more), retrograde, different training,
        -- independent copies; null: baseline, not scaled, or not comparable
        CASE
            WHEN ranks_train = 'independent copies' THEN ranks_train
            WHEN is_compared AND trains_differently THEN 'different training'
            WHEN is_judged AND is_slower THEN 'retrograde'
            WHEN is_judged AND may_be_slow THEN 'undecided'
            WHEN is_judged THEN verdict_within(efficiency, verdict_lo, verdict_hi)
        END AS verdict,
        verdict_lo,
        verdict_hi,
        is_slower,                     -- than the next smaller n, beyond repeats; false without an interval
        -- repeats_needed: more rounds, for one verdict with a probability of 80 %; null: no interval, or > 1,000
        CASE WHEN verdict_lo = verdict_hi THEN 0 ELSE repeats_to_a_verdict END AS repeats_needed,
        until,
        -- repeats_needed_until: the same to reach measure.until; null: it is not set, no interval, or > 1,014
        CASE
            WHEN throughput_half_width <= ln(1 + until) THEN 0
            ELSE units_to_width(log_variance, repeats - 1, repeats, ln(1 + until), is_stopped_early := stops_early)
        END AS repeats_needed_until,
        until_efficiency,
        -- repeats_needed_until_efficiency: more rounds to reach measure.until_efficiency; null: baseline, not set,
        -- no interval, or > 1,014
        CASE
            WHEN is_baseline THEN NULL
            WHEN typical_half_width <= ln(1 + until_efficiency) THEN 0
            WHEN typical_half_width IS NOT NULL THEN units_to_width(
                pair_variance, ratio_df, pairs, ln(1 + until_efficiency), is_stopped_early := stops_early
            )
        END AS repeats_needed_until_efficiency,
        stops_early,
        step_ms,
        step_ms * exp(-step_ms_half_width) AS step_ms_lo,
        step_ms * exp(step_ms_half_width) AS step_ms_hi,
        step_ms_mean, step_ms_std,
        elapsed_s,
        elapsed_s * exp(-elapsed_s_half_width) AS elapsed_s_lo,
        elapsed_s * exp(elapsed_s_half_width) AS elapsed_s_hi,
        dataset_size / throughput AS time_per_epoch_s,
        dataset_size / throughput_hi AS time_per_epoch_s_lo,
        dataset_size / throughput_lo AS time_per_epoch_s_hi,
        best_val_loss_mean, best_val_accuracy_mean, metric
    FROM judged
    LEFT JOIN needs USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
