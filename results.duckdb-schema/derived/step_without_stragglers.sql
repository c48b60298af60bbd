-- One row per session, case and placement whose profiled steps could be replayed: how long a step would take if no
-- rank were slower than the others. Means over steps and ok repeats. A replay has the steps' operations in their
-- order, each as long as measured, but waits follow from what the other ranks do. Without stragglers, all operations
-- of one kind take the same time: the mean of all ranks and steps for work, the median for transfers.
-- `profile_replays` has the steps.
WITH ok_runs AS (
    SELECT * FROM run_summary WHERE status = 'ok'
),
per_run AS (
    SELECT
        session_id, run_id, attempt,
        count(*) AS replayed_steps,
        avg(step_ns) / 1e6 AS step_ms,
        avg(replayed_ns) / 1e6 AS replayed_ms,
        avg(even_ns) / 1e6 AS even_ms,
        avg(without_slowest_ns) / 1e6 AS without_slowest_ms,
        any_value(slowest) AS slowest
    FROM profile_replays
    GROUP BY session_id, run_id, attempt
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, strategy, world_size, nodes, ranks_per_node, threads, placement, device_type,
        count(*) AS repeats,
        min(replayed_steps) AS replayed_steps,
        avg(per_run.step_ms) AS step_ms,
        avg(replayed_ms) AS replayed_ms,
        avg(even_ms) AS even_ms,
        avg(without_slowest_ms) AS without_slowest_ms,
        arg_max(slowest, replayed_ms - even_ms) AS slowest
    FROM per_run
    JOIN ok_runs USING (session_id, run_id, attempt)
    GROUP BY
        session_id, suite, case_name, strategy, world_size, nodes, ranks_per_node, threads, placement, device_type
),
final AS (
    SELECT
        session_id, suite, case_name, strategy, world_size, nodes, ranks_per_node, threads, placement, device_type,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        repeats,             -- ok runs with replayed steps
        replayed_steps,      -- replayed steps per run
        step_ms,             -- a step as it was, of the slowest rank
        replayed_ms,         -- a step replayed with the measured durations: the base of the figures below
        even_ms,             -- a step without stragglers
        without_slowest_ms,  -- a step whose slowest 3 % of workers are like the others
        slowest,             -- those workers, the worst first: ranks, or REPLICA/STAGE of a pipeline
        replayed_ms / nullif(even_ms, 0) AS slowdown,  -- replayed_ms ÷ even_ms
        -- slowest_share: share of the lost time that the slowest workers explain; above 1 if the others gain, too
        (replayed_ms - without_slowest_ms) / nullif(replayed_ms - even_ms, 0) AS slowest_share
    FROM over_repeats
)
SELECT * FROM final;
