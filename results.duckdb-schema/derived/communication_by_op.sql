-- One row per session, case, placement and kind of collective in its profiled steps: per rank and step, means over
-- ranks, profiled steps and ok repeats. `control` is communication without parameters or gradients: single numbers and
-- integers.
WITH rank_steps AS (
    SELECT session_id, run_id, attempt, count(*) AS steps
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt
),
smaller_groups AS (
    SELECT session_id, run_id, attempt, min(ranks) AS least_ranks
    FROM profile_groups
    GROUP BY session_id, run_id, attempt
),
per_run AS (
    SELECT
        session_id, run_id, attempt, op,
        any_value(least_ranks) AS least_ranks,
        sum(calls) / any_value(steps) AS calls,
        if(bool_or(message_bytes IS NULL), NULL, sum(message_bytes)) / any_value(steps) AS message_bytes,
        sum(time_ns) / any_value(steps) / 1e6 AS time_ms
    FROM profile_collectives
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    JOIN rank_steps USING (session_id, run_id, attempt)
    LEFT JOIN smaller_groups USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, op
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads, op,
        any_value(strategy) AS strategy,
        any_value(world_size) AS world_size,
        any_value(placement_of(nodes, ranks_per_node, axis, threads)) AS placement,
        any_value(device_type) AS device_type,
        count(*) AS repeats,
        min(least_ranks) AS least_ranks,
        avg(calls) AS calls,
        if(count(message_bytes) = count(*), avg(message_bytes), NULL) AS message_bytes,
        avg(time_ms) AS time_ms
    FROM per_run
    JOIN last_attempts() USING (session_id, run_id, attempt)
    WHERE status = 'ok'
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads, op
),
final AS (
    SELECT
        session_id, suite, case_name, strategy, world_size, nodes, ranks_per_node, threads, placement, device_type, op,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        repeats,        -- number of ok runs
        calls,
        message_bytes,  -- sum over all calls, counted as in collectives
        time_ms,        -- union of the calls' intervals, waiting for other ranks included
        -- algorithm_gbps: message_bytes ÷ time, 10^9 bytes per second; null on one rank, which sends nothing
        CASE WHEN world_size > 1 THEN message_bytes / nullif(time_ms, 0) / 1e6 END AS algorithm_gbps,
        -- bus_gbps: algorithm_gbps times nccl-tests' factor for all ranks; null on one rank, without a factor, or if a
        -- command also uses groups of fewer ranks
        CASE
            WHEN coalesce(least_ranks, world_size) >= world_size THEN bus_factor_of(op, world_size) * algorithm_gbps
        END AS bus_gbps
    FROM over_repeats
)
SELECT * FROM final;
