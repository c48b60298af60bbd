-- One row per session, case, placement and rank, for placements with more than one rank: how much longer the rank takes
-- in a step before it first waits for the others, over ok repeats. That time is data and forward under DDP, and data
-- under FSDP, whose ranks meet in forward, and in a command whose ranks train one model. It is compared with the median
-- rank (the faster of two middle ranks). A rank is a straggler if its excess is above 2 % of the mean step with its
-- whole interval (two-sided 95 %, the repeat is the unit, Student's t), and larger than the largest excess that as many
-- equal ranks would show by chance; null below two ok repeats. Null for strategies whose waits are unknown.
WITH summaries AS (
    SELECT * FROM run_summary WHERE status = 'ok' AND world_size > 1
),
each_run AS (
    SELECT
        session_id, run_id, attempt, max_minus_median_ns_mean,
        (forward_ns_most - forward_ns_least) / 1e6 AS forward_spread_ms
    FROM run_stats
    LEFT JOIN run_part_stats USING (session_id, run_id, attempt)
),
each_rank AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, oversubscribed, run_id, attempt, rank, node,
        step_ms_mean,
        data_ns_mean / 1e6 AS data_ms,
        times_last / nullif(run_rank_stats.measured_steps, 0) AS times_last_share,
        before_wait_of(strategy, ranks_train, data_ns_mean, forward_ns_mean) / 1e6 AS before_wait_ms
    FROM summaries
    JOIN run_rank_stats USING (session_id, run_id, attempt)
),
-- Tokens or examples, if they were counted; of two middle ranks the one with fewer.
works AS (
    SELECT
        session_id, run_id, attempt, work_unit,
        unnest(range(len(works))) AS rank,
        unnest(works) AS work,
        list_sort(works)[(len(works) + 1) // 2] AS median_work
    FROM (
        SELECT
            session_id, run_id, attempt, work_of_ranks ->> '$.unit' AS work_unit,
            try_cast(work_of_ranks -> '$.per_step' AS DOUBLE[]) AS works
        FROM runs
        WHERE work_of_ranks IS NOT NULL
    ) AS counted
),
medians AS (
    SELECT
        session_id, run_id, attempt,
        quantile_disc(before_wait_ms, 0.5) AS median_before_wait_ms,
        quantile_disc(data_ms, 0.5) AS median_data_ms
    FROM each_rank
    GROUP BY session_id, run_id, attempt
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, oversubscribed, rank, node,
        count(before_wait_ms) AS repeats,
        avg(step_ms_mean) AS step_ms_mean,
        avg(before_wait_ms) AS before_wait_ms,
        avg(median_before_wait_ms) AS median_before_wait_ms,
        avg(before_wait_ms - median_before_wait_ms) AS excess_ms,
        var_samp(before_wait_ms - median_before_wait_ms) / count(before_wait_ms) AS excess_variance,
        avg(CASE WHEN before_wait_ms IS NOT NULL THEN data_ms - median_data_ms END) AS data_excess_ms,
        avg(forward_spread_ms) AS forward_spread_ms,
        any_value(work_unit) AS work_unit,
        CASE WHEN count(work) = count(*) THEN avg(work) END AS work,
        CASE WHEN count(work) = count(*) THEN avg(median_work) END AS median_work,
        avg(times_last_share) AS times_slowest_share,
        avg(max_minus_median_ns_mean) / 1e6 AS max_minus_median_ms
    FROM each_rank
    JOIN medians USING (session_id, run_id, attempt)
    JOIN each_run USING (session_id, run_id, attempt)
    LEFT JOIN works USING (session_id, run_id, attempt, rank)
    GROUP BY
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, oversubscribed, rank, node
),
quantiles AS (
    SELECT repeats, t_quantile(repeats - 1) AS t FROM (SELECT DISTINCT repeats FROM over_repeats) AS counts
),
-- Imbalance is the time that the slowest rank computes longer, in forward and in backward, where the others' wait hides
-- its excess. The rank's part of it is as large as its part of the spread in forward.
imbalances AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, imbalance_ms, known_by FROM step_parts
),
judged AS (
    SELECT
        *,
        excess_ms - data_excess_ms AS forward_excess_ms,
        CASE
            WHEN strategy <> 'ddp' OR imbalance_ms IS NULL OR forward_excess_ms IS NULL THEN excess_ms
            ELSE data_excess_ms
                + imbalance_ms * least(greatest(forward_excess_ms / nullif(forward_spread_ms, 0), 0), 1)
        END AS waited_ms,
        excess_ms - t * sqrt(excess_variance) AS excess_ms_lo,
        excess_ms + t * sqrt(excess_variance) AS excess_ms_hi,
        -- A bound that the largest of world_size standard normals exceeds in at most 2.5 % of cases.
        sqrt(2 * ln(world_size / 0.025)) * sqrt(avg(excess_variance) OVER of_placement) AS largest_by_chance_ms,
        if(
            oversubscribed, NULL, excess_ms_lo > 0.02 * step_ms_mean AND excess_ms > largest_by_chance_ms
        ) AS is_straggler
    FROM over_repeats
    LEFT JOIN quantiles USING (repeats)
    LEFT JOIN imbalances USING (session_id, case_name, nodes, ranks_per_node, threads)
    WINDOW of_placement AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, oversubscribed,
        rank, node,
        repeats,                       -- number of ok runs
        before_wait_ms,                -- time before the rank first waits, mean over measured steps and ok repeats
        before_wait_ms / nullif(median_before_wait_ms, 0) AS ratio,  -- that time divided by the median rank's
        excess_ms,                     -- that time minus the median rank's: the time that others wait for it
        excess_ms_lo, excess_ms_hi,
        data_excess_ms,                -- wait for data minus the median rank's; may exceed excess_ms
        excess_ms / step_ms_mean AS excess_of_step,  -- fraction of the mean step
        -- cost: share of the mean step that others wait for it, in backward too if imbalance is known (step_parts)
        waited_ms / step_ms_mean AS cost,
        -- is_estimated: whether backward's part of cost was estimated
        strategy = 'ddp' AND known_by IS NOT DISTINCT FROM 'estimated' AS is_estimated,
        times_slowest_share,           -- share of measured steps in which the rank was the last to wait
        1 / world_size AS expected_share,  -- times_slowest_share if all ranks were alike
        max_minus_median_ms,           -- of the placement: slowest minus median rank of a step, mean over steps
        work_unit,                     -- what work counts: tokens, examples; null: neither was counted
        work,                          -- tokens or examples of the rank in a mean measured step
        median_work,                   -- those of the median rank
        -- has_more_work: whether more work explains at least half of its excess; null if work was not counted
        work / median_work - 1 >= 0.5 * (ratio - 1) AS has_more_work,
        is_straggler,                  -- null below two ok repeats, and if ranks shared slots
        -- node_excess_ms: mean over the node's ranks
        avg(excess_ms) OVER of_node AS node_excess_ms,
        avg(waited_ms / step_ms_mean) OVER of_node AS node_cost,  -- mean of cost over the node's ranks
        -- node_stragglers: number of stragglers on the node
        count(*) FILTER (is_straggler) OVER of_node AS node_stragglers,
        -- is_slow_node: whether all its ranks are stragglers and there are other nodes; null on one node
        if(nodes > 1, bool_and(is_straggler) OVER of_node, NULL) AS is_slow_node
    FROM judged
    WINDOW of_node AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads, node)
)
SELECT * FROM final;
