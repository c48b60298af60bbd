-- One row per session, case and placement (nodes, ranks_per_node, threads), even if no repeat is ok; its numbers are
-- then null. Speedup and efficiency are relative to the case's smallest ok n (fewest nodes among equals), or to that of
-- the case named by `baseline:`. Speedup and efficiency are those of the median round, over all ok runs (`log_ratio`).
-- Intervals: two-sided 95 %, of the differences within rounds if both sides have three rounds or more in common
-- (`rounds`), else Welch's, which needs two ok runs on each side and three on one; a baseline's own row is exact. If
-- the baseline ran on another kind of device, in another precision, with another batch or another workload, there is a
-- speedup but no efficiency and no verdict: the ratio then includes the effect of that difference. Ranks of a command
-- that train independent copies of the model have neither speedup nor efficiency, and neither has a command with
-- unexplained pauses of over a tenth of its time, until `--pauses` says what they are.
WITH baselines AS (
    SELECT
        session_id AS baseline_session_id,
        case_name AS baseline_case,
        workers AS baseline_workers,
        nodes AS baseline_nodes,
        ranks_per_node AS baseline_ranks_per_node,
        threads AS baseline_threads,
        point_id AS baseline_point_id,
        device_type AS baseline_device_type,
        axis AS baseline_axis,
        workload AS baseline_workload,
        precision AS baseline_precision,
        global_batch AS baseline_global_batch,
        batch_per_rank AS baseline_batch_per_rank,
        world_size AS baseline_world_size,
        repeats AS baseline_repeats,
        logs AS baseline_logs,
        throughput AS baseline_throughput,
        resolution AS baseline_resolution,
        hides_work AS baseline_hides_work
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
        lag(logs) OVER by_size AS next_smaller_logs,
        lag(resolution) OVER by_size AS next_smaller_resolution
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
        next_smaller_workers, next_smaller_throughput, next_smaller_logs, next_smaller_resolution,
        differences_within(logs, baseline_logs) AS differences,
        coalesce(
            repeats > 0 AND case_name = baseline_case AND nodes = baseline_nodes
                AND ranks_per_node = baseline_ranks_per_node AND threads = baseline_threads,
            false
        ) AS is_baseline,
        coalesce(baseline_device_type = device_type, true)
            AND coalesce(baseline_workload = workload, true)
            AND coalesce(baseline_precision = precision, true)
            AND coalesce(
                abs(ln(CASE
                    WHEN scaling_mode = 'strong' THEN global_batch / baseline_global_batch
                    ELSE batch_per_rank / baseline_batch_per_rank
                END)) <= CASE WHEN workload = 'command' THEN 0.02 ELSE 0 END,  -- batches of commands are counted
                true
            ) AS is_alike
    FROM placements
    LEFT JOIN baselines
        ON baseline_session_id = placements.session_id AND baseline_case = coalesce(baseline, case_name)
        AND ranks_train IS DISTINCT FROM 'independent copies' AND NOT (hides_work OR baseline_hides_work)
    LEFT JOIN smaller
        ON larger_session_id = placements.session_id AND larger_case_name = placements.case_name
        AND larger_workers = placements.workers
),
with_logs AS (
    SELECT
        *,
        log_ratio(logs, baseline_logs, stops_early, rounding_error(resolution) + rounding_error(baseline_resolution))
            AS of_ratio,
        log_ratio(
            logs, next_smaller_logs, stops_early, rounding_error(resolution) + rounding_error(next_smaller_resolution)
        ) AS gain
    FROM paired
),
ratios AS MATERIALIZED (
    SELECT
        *,
        of_ratio.rounds AS rounds_in_common,
        CASE WHEN is_baseline THEN 1 ELSE exp(of_ratio.point) END AS ratio,
        CASE WHEN is_baseline THEN 1 ELSE exp(of_ratio.lo) END AS ratio_lo,
        CASE WHEN is_baseline THEN 1 ELSE exp(of_ratio.hi) END AS ratio_hi,
        -- Without an interval, two repeats show at least how far apart the rounds are.
        CASE WHEN NOT is_baseline AND of_ratio.lo IS NULL AND len(differences) = 2
            THEN list_sort(differences)
        END AS shown_differences,
        workers / baseline_workers AS relative_workers
    FROM with_logs
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
            WHEN scaling_mode <> 'none' AND NOT oversubscribed THEN p_of_ratio_below(gain, 0, stops_early)
        END AS fall_p
    FROM ratios
),
fall_steps AS (
    SELECT *, holm_step(fall_p, session_id) AS fall_step FROM falls
),
with_falls AS (
    SELECT
        *,
        coalesce(gain.hi < 0 AND holm_p_of(fall_p, fall_step, session_id) <= 0.05, false)
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
        is_alike AND NOT (oversubscribed OR is_baseline OR ratio IS NULL OR scaling_mode = 'none') AS is_compared,
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
-- From nine rounds on, an odd run no longer reaches the interval of their median. So with fewer than six rounds, advice
-- on further ones goes by the rounds without it.
odd_rounds AS (
    SELECT session_id, point_id, list(round) AS odd FROM odd_runs GROUP BY session_id, point_id
),
with_usual AS (
    SELECT
        judged.*,
        differences_within(
            [run FOR run IN logs IF NOT list_contains(coalesce(own.odd, []), run.block)],
            [run FOR run IN baseline_logs IF NOT list_contains(coalesce(of_baseline.odd, []), run.block)]
        ) AS without_odd,
        len(differences) < 6 AND len(without_odd) BETWEEN 2 AND len(differences) - 1 AS has_odd,
        CASE WHEN has_odd THEN without_odd WHEN len(differences) > 2 THEN differences END AS usual,
        CASE WHEN has_odd THEN exp(mean_of(without_odd)) * share ELSE efficiency END AS usual_efficiency
    FROM judged
    LEFT JOIN odd_rounds AS own USING (session_id, point_id)
    LEFT JOIN odd_rounds AS of_baseline
        ON of_baseline.session_id = judged.session_id AND of_baseline.point_id = baseline_point_id
),
-- How much a ratio varies, within rounds: its own variance or, if that is smaller, what it becomes with those of the
-- other sizes of its case, which count for four rounds at most; without rounds, what the interval shows.
with_deviations AS (
    SELECT
        *,
        CASE WHEN len(differences) > 2 THEN len(differences) ELSE least(repeats, baseline_repeats) END AS units,
        variance_of(usual) AS own_variance,
        coalesce(len(usual), units) - 1 AS own_df,
        sum(own_variance) OVER family - own_variance AS others_sum,
        count(own_variance) OVER family - 1 AS others,
        least(4, others * own_df) AS others_df,
        sqrt(greatest(
            own_variance,
            CASE WHEN others > 0 THEN
                (others_df * others_sum / others + own_df * own_variance) / (others_df + own_df)
            END,
            CASE WHEN NOT has_odd THEN
                (greatest(of_ratio.point - of_ratio.lo, of_ratio.hi - of_ratio.point)
                    / half_widths_of(units, stops_early)) ** 2
            END
        )) AS deviation
    FROM with_usual
    WINDOW family AS (PARTITION BY session_id, case_name, is_baseline, oversubscribed)
),
-- Further rounds for everything that is still open: one verdict, `until`, `until_efficiency`.
with_needs AS (
    SELECT
        *,
        CASE
            WHEN is_published OR throughput IS NULL OR oversubscribed THEN NULL
            WHEN is_baseline OR ratio IS NULL OR trains_differently THEN 0
            WHEN ratio_lo IS NOT NULL AND coalesce(verdict_lo = verdict_hi, true) THEN 0
            WHEN units < 3 THEN 3
            WHEN ratio_lo IS NULL THEN NULL  -- the times are rounded too much
            ELSE rounds_to_decide(
                deviation, units,
                list_min([abs(ln(usual_efficiency) - ln(border)) FOR border IN [0.5, 0.75, 0.9, 1.05]]), stops_early,
                fewest := if(has_odd, 9 - units, 3),
                error := rounding_error(resolution) + rounding_error(baseline_resolution)
            )
        END AS for_verdict,
        CASE
            WHEN until IS NULL OR throughput_hi <= throughput * (1 + until) THEN 0
            WHEN throughput_hi IS NULL THEN 3
            ELSE rounds_to_width(sqrt(log_variance), repeats, ln(1 + until), stops_early)
        END AS for_until,
        CASE
            WHEN until_efficiency IS NULL OR is_baseline OR ratio_hi <= ratio * (1 + until_efficiency) THEN 0
            WHEN ratio_hi IS NULL THEN 3
            ELSE rounds_to_width(
                deviation, units, ln(1 + until_efficiency), stops_early, fewest := if(has_odd, 9 - units, 3)
            )
        END AS for_until_efficiency
    FROM with_deviations
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, workload, axis, workers, world_size, nodes,
        ranks_per_node,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        threads, placement, locality, device_type, device_name, precision, batch_per_rank, global_batch,
        examples_per_step, ranks_train, oversubscribed, slurm_job_id, runs, repeats, slow_runs,
        unexplained_share, left_out_share, throughput,
        throughput_lo,
        throughput_hi,
        throughput_unit,
        is_published,
        -- resolution: the larger one of this size's and of its base line's; null: not rounded
        greatest(resolution, CASE WHEN NOT is_baseline THEN baseline_resolution END) AS resolution,
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
        baseline_global_batch,         -- global batch of the baseline
        baseline_world_size,           -- ranks of the baseline
        is_baseline,                   -- whether this row is the baseline
        -- rounds: within which the ratio to the baseline is estimated; null: the means of repeats are compared
        CASE WHEN NOT is_baseline THEN rounds_in_common END AS rounds,
        next_smaller_workers,  -- next smaller n of the case with ok runs, not oversubscribed; null at the smallest
        next_smaller_throughput,       -- throughput there, on the fewest nodes
        -- speedup: throughput ÷ the baseline's × the baseline's workers; under weak scaling the scaled speedup
        ratio * baseline_workers AS speedup,
        ratio_lo * baseline_workers AS speedup_lo,
        ratio_hi * baseline_workers AS speedup_hi,
        -- speedup_min: smallest of the rounds', where these are too few for an interval; null with one, and below two
        exp(shown_differences[1]) * baseline_workers AS speedup_min,
        exp(shown_differences[-1]) * baseline_workers AS speedup_max,  -- largest of the rounds', as speedup_min
        -- efficiency: speedup ÷ workers; null if not scaled, or over another device, precision, batch or workload
        efficiency,
        efficiency_lo,
        efficiency_hi,
        -- Karp-Flatt relative to the baseline: the textbook form drifts upward if the baseline has n > 1. Both serial
        -- fractions fall as the ratio rises, so their lower end belongs to the ratio's upper end.
        -- karp_flatt: serial fraction, strong scaling only; null at the baseline
        (1 / ratio - 1 / relative_workers) * karp_flatt_scale AS karp_flatt,
        (1 / ratio_hi - 1 / relative_workers) * karp_flatt_scale AS karp_flatt_lo,
        (1 / ratio_lo - 1 / relative_workers) * karp_flatt_scale AS karp_flatt_hi,
        -- gustafson: serial fraction, weak scaling only; null at the baseline
        (relative_workers - ratio) * gustafson_scale AS gustafson,
        -- verdict: by efficiency (two if the interval reaches two, undecided if more or without one), retrograde,
        -- different training, independent copies, unexplained pauses; one repeat; published, one figure; null:
        -- baseline, not scaled, not comparable
        CASE
            WHEN ranks_train = 'independent copies' THEN ranks_train
            WHEN hides_work THEN 'unexplained pauses'
            WHEN is_compared AND trains_differently THEN 'different training'
            WHEN is_judged AND is_slower THEN 'retrograde'
            WHEN is_judged AND is_published THEN 'published, one figure'
            WHEN is_judged AND least(repeats, baseline_repeats) < 2 THEN 'one repeat'
            WHEN is_judged AND ratio_lo IS NULL THEN 'undecided'
            WHEN is_judged THEN verdict_within(efficiency, verdict_lo, verdict_hi)
        END AS verdict,
        verdict_lo,
        verdict_hi,
        is_slower,                     -- than the next smaller n, beyond repeats; false without an interval
        -- repeats_needed: further rounds, 3 to 20, for one verdict and what until and until_efficiency ask, in four of
        -- five sessions; 0: nothing is open; null: 20 would not do, or one published figure
        CASE WHEN for_verdict IS NOT NULL AND for_until IS NOT NULL AND for_until_efficiency IS NOT NULL
            THEN greatest(for_verdict, for_until, for_until_efficiency)
        END AS repeats_needed,
        until,
        until_efficiency,
        stops_early,
        step_ms, step_ms_lo, step_ms_hi, step_ms_mean, step_ms_std, elapsed_s,
        dataset_size / throughput AS time_per_epoch_s,
        best_val_loss_mean, best_val_accuracy_mean, metric
    FROM with_needs
)
SELECT * FROM final;
