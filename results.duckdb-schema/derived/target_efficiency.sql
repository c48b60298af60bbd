-- One row per session, case and placement (nodes, ranks_per_node, threads) that was to train until a target
-- (`target_runs`): what a typical run needs to reach it, and its efficiency against the baseline: the baseline's time ×
-- workers ÷ this size's. It is the product of three factors, each a ratio to the baseline: throughput per worker, the
-- examples needed (the baseline's ÷ this size's) and the share of the clock spent training. A factor below 1 costs
-- time. A size is compared if it has the workload, options, data, kind of device and target of the baseline: the case's
-- smallest n with such a run, or that of the case named by `baseline:`. Figures are geometric means over all runs, slow
-- ones included. Intervals: two-sided 95 %, as in `scaling`. Runs that missed the target are censored: if fewer than
-- half did, a log-normal distribution is fitted, in which they need more than they had; if half or more did, only an
-- end is known, and `bound` says which. A run may have reached the target anywhere since the validation before, so the
-- variance of a need is not below that of an even distribution over this distance.
WITH sizes AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(point_id) AS point_id,
        any_value(scaling_mode) AS scaling_mode,
        any_value(strategy) AS strategy,
        any_value(axis) AS axis,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(placement) AS placement,
        bool_or(oversubscribed) AS oversubscribed,
        any_value(global_batch) AS global_batch,
        any_value(baseline) AS baseline,
        any_value(stops_early) AS stops_early,
        any_value(until_loss) AS until_loss,
        [any_value(workload), any_value(workload_options), any_value(data_source), any_value(device_type)]
            AS trained,
        count(*) AS runs,
        count(*) FILTER (reached) AS reached,
        count(*) FILTER (NOT reached) AS missed,
        coalesce(list(ln(examples)) FILTER (reached AND examples IS NOT NULL), []) AS known_examples,
        coalesce(list(ln(examples)) FILTER (NOT reached AND examples IS NOT NULL), []) AS least_examples,
        coalesce(list(ln(seconds)) FILTER (reached AND seconds IS NOT NULL), []) AS known_seconds,
        coalesce(list(ln(seconds)) FILTER (NOT reached AND seconds IS NOT NULL), []) AS least_seconds,
        mean_with_limits(known_examples, least_examples, runs) AS of_examples,
        mean_with_limits(known_seconds, least_seconds, runs) AS of_seconds,
        coalesce(avg(since_last ** 2) FILTER (reached) / 12, 0) AS least_variance,
        -- logs of each run with its block: the round
        coalesce(list({'block': round, 'value': -ln(examples)}) FILTER (examples IS NOT NULL), []) AS example_logs,
        coalesce(list({'block': round, 'value': -ln(seconds)}) FILTER (seconds IS NOT NULL), []) AS second_logs,
        coalesce(list({'block': round, 'value': ln(throughput)}) FILTER (throughput IS NOT NULL), []) AS rate_logs,
        coalesce(list({'block': round, 'value': ln(training_share)}) FILTER (training_share IS NOT NULL), [])
            AS share_logs,
        avg(examples / steps) AS examples_of_step,
        geometric_mean(throughput) AS throughput,
        geometric_mean(training_share) AS training_share,
        avg(setup_s / seconds) AS setup_share,
        avg(validation_s / seconds) AS validation_share
    FROM target_runs
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
        of_examples AS baseline_examples,
        of_seconds AS baseline_seconds,
        least_variance AS baseline_least_variance,
        example_logs AS baseline_example_logs,
        second_logs AS baseline_second_logs,
        rate_logs AS baseline_rate_logs,
        share_logs AS baseline_share_logs
    FROM sizes
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads
    ) = 1
),
paired AS (
    SELECT
        sizes.*,
        baselines.*,
        coalesce(point_id = baseline_point_id, false) AS is_baseline,
        baseline_workers / workers AS per_worker
    FROM sizes
    LEFT JOIN baselines
        ON baseline_session_id = sizes.session_id AND baseline_case = coalesce(baseline, case_name)
        AND baseline_until_loss IS NOT DISTINCT FROM until_loss AND baseline_trained = trained
),
-- ln of each factor, before workers are counted, and the half-width of its interval.
factors AS (
    SELECT
        *,
        log_ratio_of(rate_logs, baseline_rate_logs) AS of_throughput,
        ratio_half_width(rate_logs, baseline_rate_logs, stops_early) AS throughput_half_width,
        ratio_half_width(share_logs, baseline_share_logs, stops_early) AS share_half_width,
        log_ratio_with_limits(example_logs, baseline_example_logs, of_examples, baseline_examples) AS examples_log,
        half_width(
            of_examples.units, least_variance, baseline_examples.units, baseline_least_variance,
            is_stopped_early := stops_early
        ) AS least_half_width,
        half_width_with_limits(example_logs, baseline_example_logs, of_examples, baseline_examples, stops_early)
            AS own_examples_half_width,
        CASE WHEN own_examples_half_width IS NOT NULL THEN greatest(own_examples_half_width, least_half_width) END
            AS examples_half_width,
        log_ratio_with_limits(second_logs, baseline_second_logs, of_seconds, baseline_seconds) AS seconds_log,
        half_width_with_limits(second_logs, baseline_second_logs, of_seconds, baseline_seconds, stops_early)
            AS own_seconds_half_width,
        CASE WHEN own_seconds_half_width IS NOT NULL THEN greatest(own_seconds_half_width, least_half_width) END
            AS seconds_half_width,
        -- The share of a run that missed the target is that until its end. With a fit, it is what the other factors
        -- leave of the efficiency.
        'fit' IN (of_examples.kind, baseline_examples.kind) AS has_fit,
        CASE
            WHEN has_fit AND 'bound' NOT IN (of_examples.kind, baseline_examples.kind)
            THEN seconds_log - examples_log - of_throughput
            ELSE log_ratio_of(share_logs, baseline_share_logs)
        END AS of_share,
        of_examples.kind = 'bound' AS is_bound,
        baseline_examples.kind = 'bound' AS is_baseline_bound,
        is_baseline AND NOT is_bound AS is_exact,
        t_quantile_for(CASE WHEN of_examples.units > 1 THEN of_examples.units - 1 END, stops_early) AS quantile,
        quantile * sqrt(greatest(of_examples.variance, least_variance / of_examples.units)) AS of_size_half_width,
        quantile * sqrt(greatest(of_seconds.variance, least_variance / of_seconds.units)) AS seconds_of_size_half_width
    FROM paired
),
-- A factor above its bound is impossible if this size missed the target, one below if the baseline did.
with_ends AS (
    SELECT
        * EXCLUDE (throughput, training_share),
        throughput,
        training_share,
        CASE
            WHEN is_baseline THEN NULL
            WHEN is_bound AND NOT is_baseline_bound THEN 'at most'
            WHEN is_baseline_bound AND NOT is_bound THEN 'at least'
        END AS bound,
        CASE WHEN is_baseline THEN 1 ELSE exp(of_throughput) * per_worker END AS throughput_factor,
        CASE WHEN is_baseline THEN 1 ELSE throughput_factor * exp(-throughput_half_width) END AS throughput_factor_lo,
        CASE WHEN is_baseline THEN 1 ELSE throughput_factor * exp(throughput_half_width) END AS throughput_factor_hi,
        CASE WHEN is_baseline THEN 1 ELSE exp(of_share) END AS share_factor,
        CASE WHEN is_baseline THEN 1 ELSE share_factor * exp(-share_half_width) END AS share_factor_lo,
        CASE WHEN is_baseline THEN 1 ELSE share_factor * exp(share_half_width) END AS share_factor_hi,
        CASE WHEN is_exact THEN 1 WHEN NOT (is_bound OR is_baseline_bound) THEN exp(examples_log) END
            AS examples_factor,
        CASE WHEN is_exact THEN 1 WHEN NOT is_bound THEN exp(examples_log - examples_half_width) END
            AS examples_factor_lo,
        CASE WHEN is_exact THEN 1 WHEN NOT is_baseline_bound THEN exp(examples_log + examples_half_width) END
            AS examples_factor_hi,
        CASE WHEN is_exact THEN 1 WHEN NOT (is_bound OR is_baseline_bound) THEN exp(seconds_log) * per_worker END
            AS efficiency,
        CASE WHEN is_exact THEN 1 WHEN NOT is_bound THEN exp(seconds_log - seconds_half_width) * per_worker END
            AS efficiency_lo,
        CASE
            WHEN is_exact THEN 1
            WHEN NOT is_baseline_bound THEN exp(seconds_log + seconds_half_width) * per_worker
        END AS efficiency_hi
    FROM factors
),
with_costs AS (
    SELECT
        *,
        [
            {'factor': 'throughput', 'lo': throughput_factor_lo, 'hi': throughput_factor_hi},
            {'factor': 'examples', 'lo': examples_factor_lo, 'hi': examples_factor_hi},
            {'factor': 'share', 'lo': share_factor_lo, 'hi': share_factor_hi}
        ] AS all_factors
    FROM with_ends
),
final AS (
    SELECT
        session_id, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id, placement, oversubscribed, global_batch,
        until_loss,
        runs,                          -- that were to reach the target, and began
        reached,                       -- number of runs that reached it
        missed,                        -- number of runs that did not reach it, also if they ended early
        -- estimate: mean (no run missed it), fit (fewer than half did), bound (half or more did, or fewer than three
        -- reached it); null if a run's examples are unknown
        of_examples.kind AS estimate,
        -- examples: examples to the target, of a typical run; null for a bound, which is examples_lo
        CASE WHEN NOT is_bound THEN exp(of_examples.mean) END AS examples,
        exp(of_examples.mean - of_size_half_width) AS examples_lo,
        CASE WHEN NOT is_bound THEN exp(of_examples.mean + of_size_half_width) END AS examples_hi,
        CASE WHEN NOT is_bound THEN exp(of_examples.mean) / examples_of_step END AS steps,  -- optimizer steps to it
        CASE WHEN NOT is_bound THEN exp(of_seconds.mean) END AS seconds,  -- whole clock to it, start-up included
        exp(of_seconds.mean - seconds_of_size_half_width) AS seconds_lo,
        CASE WHEN NOT is_bound THEN exp(of_seconds.mean + seconds_of_size_half_width) END AS seconds_hi,
        throughput,                    -- examples/s while training; geometric mean of the runs where it is known
        training_share,  -- share of the clock spent training at that throughput; geometric mean
        setup_share,                   -- share of the clock before the ranks' common barrier; mean
        validation_share,              -- share of the clock in validations; mean
        baseline_case,                 -- case of the baseline; null if nothing is comparable
        baseline_workers,              -- n of the baseline
        is_baseline,                   -- whether this row is the baseline
        -- throughput_factor: throughput per worker ÷ the baseline's
        throughput_factor,
        throughput_factor_lo,
        throughput_factor_hi,
        -- examples_factor: the baseline's examples to the target ÷ this size's
        examples_factor,
        examples_factor_lo,
        examples_factor_hi,
        -- share_factor: share of the clock spent training ÷ the baseline's
        share_factor,
        share_factor_lo,
        share_factor_hi,
        -- efficiency: the baseline's seconds × workers ÷ this size's: the product of the factors
        efficiency,
        efficiency_lo,
        efficiency_hi,
        -- bound: at most, at least: only one end of examples_factor and efficiency is known; null: both, or none
        bound,
        -- costs_most: throughput, examples, share: the factor whose interval lies below 1 and below the other two; null
        -- if none does, or if it is a share that a fit moves, whose interval is too narrow
        list_filter(
            all_factors,
            lambda one: one.hi < 1 AND NOT (has_fit AND one.factor = 'share') AND len(list_filter(
                all_factors, lambda other: other.factor <> one.factor AND other.lo > one.hi
            )) = 2
        )[1].factor AS costs_most
    FROM with_costs
)
SELECT * FROM final;
