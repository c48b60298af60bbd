-- One row per session, case and placement: how many runs were planned and how they ended. `missing` runs were planned
-- and have no result (yet); `reasons` says why runs are not ok. Probing runs of find_batch are left out.
WITH last_attempts AS (
    FROM last_attempts() WHERE probe IS NOT TRUE
),
planned AS (
    SELECT * FROM planned_runs WHERE probe IS NOT TRUE
),
every_run AS (
    SELECT
        coalesce(planned.session_id, last_attempts.session_id) AS session_id,
        coalesce(planned.run_id, last_attempts.run_id) AS run_id,
        coalesce(planned.case_name, last_attempts.case_name) AS case_name,
        coalesce(planned.strategy, last_attempts.strategy) AS strategy,
        coalesce(planned.scaling_mode, last_attempts.scaling_mode) AS scaling_mode,
        coalesce(planned.axis, last_attempts.axis) AS axis,
        coalesce(planned.workers, last_attempts.workers) AS workers,
        coalesce(planned.world_size, last_attempts.world_size) AS world_size,
        coalesce(planned.nodes, last_attempts.nodes) AS nodes,
        coalesce(planned.ranks_per_node, last_attempts.ranks_per_node) AS ranks_per_node,
        coalesce(planned.threads, last_attempts.threads) AS threads,
        planned.run_id IS NOT NULL AS was_planned,
        coalesce(attempt + 1, 0) AS attempts,
        coalesce(status, CASE WHEN skip_reason IS NOT NULL THEN 'skipped' END) AS status,
        coalesce(split_part(error, chr(10), 1), skip_reason) AS reason
    FROM planned
    FULL OUTER JOIN last_attempts
        ON planned.session_id = last_attempts.session_id AND planned.run_id = last_attempts.run_id
),
final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        any_value(strategy) AS strategy,
        any_value(scaling_mode) AS scaling_mode,
        any_value(axis) AS axis,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        placement_of(nodes, ranks_per_node, any_value(axis), threads) AS placement,  -- nodes x ranks per node: `2x4`
        count(*) FILTER (was_planned) AS planned,  -- runs in the plan
        count(*) FILTER (status = 'ok') AS ok,  -- last attempts that are ok
        count(*) FILTER (status = 'oom') AS oom,  -- runs out of memory, on the device or the host
        count(*) FILTER (status = 'failed') AS failed,  -- runs that an error or a signal ended
        count(*) FILTER (status = 'timeout') AS timeout,  -- runs that took longer than timeout_s
        count(*) FILTER (status = 'interrupted') AS interrupted,  -- runs during which the session was stopped
        count(*) FILTER (status = 'skipped') AS skipped,  -- runs that this machine cannot host
        count(*) FILTER (status IS NULL) AS missing,  -- planned runs without a result so far
        sum(attempts)::BIGINT AS attempts,  -- number of attempts over all runs, earlier ones included
        -- reasons: why runs are not ok, each reason once; null if all are ok
        string_agg(DISTINCT reason, '; ' ORDER BY reason) FILTER (status IS DISTINCT FROM 'ok') AS reasons
    FROM every_run
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
)
SELECT * FROM final;
