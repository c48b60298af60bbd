-- One row per session, case, placement and process group of its profiled steps, such as a dimension of a mesh: per rank
-- and step, means over ranks, profiled steps and ok repeats. Groups with the same description are one. Two groups that
-- communicate at the same time both count it.
WITH step_totals AS (
    SELECT
        session_id, run_id, attempt,
        count(*) AS rank_steps,
        sum(step_ns) AS step_ns
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt
),
per_run AS (
    SELECT
        session_id, run_id, attempt,
        coalesce(nullif(regexp_replace(description, '^mesh_', ''), ''), group_name) AS dimension,
        max(ranks) AS ranks,
        sum(calls) / any_value(rank_steps) AS calls,
        if(bool_or(message_bytes IS NULL), NULL, sum(message_bytes)) / any_value(rank_steps) AS message_bytes,
        if(bool_or(time_ns IS NULL), NULL, sum(time_ns)) / any_value(rank_steps) / 1e6 AS time_ms,
        if(bool_or(exposed_ns IS NULL), NULL, sum(exposed_ns)) / any_value(rank_steps) / 1e6 AS exposed_ms,
        exposed_ms * 1e6 * any_value(rank_steps) / any_value(step_ns) AS exposed_share
    FROM profile_groups
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    JOIN step_totals USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, dimension
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, dimension,
        any_value(strategy) AS strategy,
        any_value(world_size) AS world_size,
        any_value(placement_of(nodes, ranks_per_node, axis, threads)) AS placement,
        count(*) AS repeats,
        max(ranks) AS ranks,
        avg(calls) AS calls,
        if(count(message_bytes) = count(*), avg(message_bytes), NULL) AS message_bytes,
        avg(time_ms) AS time_ms,
        avg(exposed_ms) AS exposed_ms,
        avg(exposed_share) AS exposed_share,
        mean_half_width(count(exposed_share), var_samp(exposed_share)) AS half_width
    FROM per_run
    JOIN last_attempts() USING (session_id, run_id, attempt)
    WHERE status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, dimension
),
final AS (
    SELECT
        session_id, case_name, strategy, world_size, nodes, ranks_per_node, threads, placement,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        dimension,      -- tp, dp_shard, ...; of a command the group's description; default_pg: all ranks
        ranks,          -- in the group
        repeats,        -- number of ok runs
        calls,
        message_bytes,  -- sum over all calls, counted as in collectives; null: unknown
        time_ms,        -- union of the calls' intervals, waiting for other ranks included; null: unknown
        exposed_ms,     -- part of time_ms in which the rank computed nothing
        exposed_share,  -- exposed_ms ÷ the profiled step
        end_of_share(exposed_share - half_width) AS exposed_share_lo,
        end_of_share(exposed_share + half_width) AS exposed_share_hi
    FROM over_repeats
)
SELECT * FROM final;
