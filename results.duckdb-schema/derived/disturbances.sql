-- One row per session with sizes of three or more ok runs: how often its runs are slow (`slow_runs`), and by how much.
-- The rate is that of a rank: a run on n ranks is slow with the probability 1 - (1 - rate)^n. Intervals: two-sided 95
-- %, for the rate Garwood's limits of a count.
WITH ok_runs AS (
    SELECT
        session_id, run_id, attempt, world_size,
        count(*) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads) AS runs
    FROM run_summary
    WHERE throughput > 0 AND NOT oversubscribed
),
of_world_sizes AS (
    SELECT
        session_id, world_size,
        count(*) AS runs,
        count(slowdown) AS slow_runs,
        sum(slowdown) AS slowdowns,
        sum(slowdown ** 2) AS squares
    FROM ok_runs
    LEFT JOIN (FROM slow_runs SELECT session_id, run_id, attempt, slowdown) AS slow
        USING (session_id, run_id, attempt)
    WHERE runs > 2
    GROUP BY session_id, world_size
),
of_sessions AS (
    SELECT
        session_id,
        sum(runs)::BIGINT AS runs,
        sum(slow_runs)::BIGINT AS slow_runs,
        list({'ranks': world_size, 'runs': runs} ORDER BY world_size) AS sizes,
        sum(slowdowns) / nullif(sum(slow_runs), 0) AS slowdown,
        -- of the mean; one slow run says nothing about the others
        CASE
            WHEN sum(slow_runs) > 1 THEN t_quantile(sum(slow_runs) - 1) * sqrt(
                greatest(0, sum(squares) - sum(slow_runs) * slowdown ** 2) / (sum(slow_runs) - 1) / sum(slow_runs)
            )
        END AS slowdown_half_width
    FROM of_world_sizes
    GROUP BY session_id
),
final AS (
    SELECT
        session_id,
        runs,                        -- ok runs of sizes with three or more
        slow_runs,                   -- those in slow_runs
        -- rate_per_rank: probability that one rank makes a run slow
        rate_of_slow_runs(slow_runs, sizes) AS rate_per_rank,
        rate_of_slow_runs(count_lo(slow_runs), sizes) AS rate_per_rank_lo,
        CASE
            -- exact: the rate at which no run is slow once in forty sessions
            WHEN slow_runs = 0 THEN 1 - 0.025 ** (1 / list_sum([size.runs * size.ranks FOR size IN sizes]))
            ELSE rate_of_slow_runs(count_hi(slow_runs), sizes)
        END AS rate_per_rank_hi,
        slowdown,                    -- time of a slow run ÷ that of a typical one, mean; null without a slow run
        -- slowdown_lo: 1 or more; null below two slow runs
        CASE WHEN slowdown - slowdown_half_width < 1 THEN 1 ELSE slowdown - slowdown_half_width END AS slowdown_lo,
        slowdown + slowdown_half_width AS slowdown_hi
    FROM of_sessions
)
SELECT * FROM final;
