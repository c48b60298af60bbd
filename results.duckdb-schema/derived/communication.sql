-- One row per session, case and placement with profiled steps: how long a step communicates, and how much of that
-- computation does not hide. Within a run: means over profiled steps and ranks, so that the parts add up to the step;
-- over repeats: the mean, ok runs only. A rank that arrives early waits inside the collective, which counts as its
-- communication. The rank with the least communication waits least, so its value is closest to the pure transfer. All
-- times are under the profiler, which slows short steps down; no_sync_saving_ms is the time that communication adds to
-- a step without the profiler. Intervals: two-sided 95 %, the repeat is the unit, Student's t, null below two repeats.
WITH summaries AS (
    SELECT * FROM run_summary WHERE status = 'ok'
),
per_rank AS (
    SELECT
        session_id, run_id, attempt, rank,
        count(*) AS profiled_steps,
        avg(step_ns) / 1e6 AS profiled_step_ms,
        avg(communication_ns) / 1e6 AS communication_ms,
        avg(exposed_communication_ns) / 1e6 AS exposed_communication_ms,
        avg(compute_ns) / 1e6 AS compute_ms
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, rank
),
per_run AS (
    SELECT
        session_id, run_id, attempt,
        min(profiled_steps) AS profiled_steps,
        sum(profiled_steps) AS profiled_rows,
        avg(profiled_step_ms) AS profiled_step_ms,
        avg(communication_ms) AS communication_ms,
        min(communication_ms) AS least_communication_ms,
        avg(exposed_communication_ms) AS exposed_communication_ms,
        avg(compute_ms) AS compute_ms
    FROM per_rank
    GROUP BY session_id, run_id, attempt
),
messages AS (
    SELECT
        session_id, run_id, attempt,
        if(bool_or(message_bytes IS NULL), NULL, sum(message_bytes)) AS message_bytes,
        sum(message_bytes) FILTER (op = 'all_reduce') AS all_reduce_bytes,
        sum(time_ns) FILTER (op = 'all_reduce') AS all_reduce_ns
    FROM profile_collectives
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt
),
-- The slowest rank: without synchronisation no rank waits for it; with synchronisation all do.
no_sync_ranks AS (
    SELECT session_id, run_id, attempt, rank, median(step_ns) / 1e6 AS no_sync_step_ms
    FROM steps
    WHERE kind = 'no_sync'
    GROUP BY session_id, run_id, attempt, rank
),
no_sync_runs AS (
    SELECT session_id, run_id, attempt, max(no_sync_step_ms) AS no_sync_step_ms
    FROM no_sync_ranks
    GROUP BY session_id, run_id, attempt
),
each_run AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, device_type, oversubscribed,
        per_run.* EXCLUDE (session_id, run_id, attempt, profiled_rows),
        exposed_communication_ms / per_run.profiled_step_ms AS exposed_share,
        if(messages.run_id IS NULL, 0, message_bytes / profiled_rows) AS message_bytes,
        CASE
            WHEN world_size > 1
            THEN bus_factor_of('all_reduce', world_size) * all_reduce_bytes / nullif(all_reduce_ns, 0)
        END AS all_reduce_bus_gbps,
        summaries.step_ms AS measured_step_ms,
        no_sync_step_ms,
        summaries.step_ms - no_sync_step_ms AS no_sync_saving_ms
    FROM per_run
    JOIN summaries USING (session_id, run_id, attempt)
    LEFT JOIN messages USING (session_id, run_id, attempt)
    LEFT JOIN no_sync_runs USING (session_id, run_id, attempt)
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement,
        any_value(device_type) AS device_type,
        bool_or(oversubscribed) AS oversubscribed,
        count(*) AS repeats,
        min(profiled_steps) AS profiled_steps,
        avg(profiled_step_ms) AS profiled_step_ms,
        avg(communication_ms) AS communication_ms,
        avg(least_communication_ms) AS least_communication_ms,
        avg(exposed_communication_ms) AS exposed_communication_ms,
        avg(compute_ms) AS compute_ms,
        avg(exposed_share) AS exposed_share,
        var_samp(exposed_share) / count(*) AS exposed_share_variance,
        if(count(message_bytes) = count(*), avg(message_bytes), NULL) AS message_bytes,
        avg(all_reduce_bus_gbps) AS all_reduce_bus_gbps,
        avg(measured_step_ms) AS measured_step_ms,
        avg(no_sync_step_ms) AS no_sync_step_ms,
        avg(no_sync_saving_ms) AS no_sync_saving_ms,
        count(no_sync_saving_ms) AS savings,
        var_samp(no_sync_saving_ms) / savings AS saving_variance
    FROM each_run
    GROUP BY
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement
),
quantiles AS (
    SELECT number, t_quantile(CASE WHEN number > 1 THEN number - 1 END) AS t
    FROM (SELECT repeats AS number FROM over_repeats UNION SELECT savings FROM over_repeats) AS counts
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, device_type, oversubscribed,
        repeats,                     -- ok runs with profiled steps
        profiled_steps,              -- profiled steps per run
        profiled_step_ms,            -- duration of a profiled step
        communication_ms,            -- time with at least one collective in progress, waiting for other ranks included
        exposed_communication_ms,    -- part of communication_ms during which nothing was computed
        -- hidden_communication_ms: part of communication_ms during which something was computed
        communication_ms - exposed_communication_ms AS hidden_communication_ms,
        compute_ms,                  -- time in which something was computed; CPU: an operator ran, GPU: a kernel ran
        -- other_ms: neither communication nor computation: Python, launches, copies, waiting for data
        greatest(profiled_step_ms - compute_ms - exposed_communication_ms, 0) AS other_ms,
        -- overlap: share of communication_ms that computation hides; null without communication
        1 - exposed_communication_ms / nullif(communication_ms, 0) AS overlap,
        exposed_share,               -- exposed_communication_ms ÷ profiled_step_ms of each run, mean over runs
        end_of_share(exposed_share - of_repeats.t * sqrt(exposed_share_variance)) AS exposed_share_lo,
        end_of_share(exposed_share + of_repeats.t * sqrt(exposed_share_variance)) AS exposed_share_hi,
        least_communication_ms,      -- communication of the rank that has the least
        message_bytes,               -- per rank and step, all collectives together, counted as in collectives
        -- all_reduce_bus_gbps: bus bandwidth of its all-reduces, waiting for other ranks included; null on one rank
        all_reduce_bus_gbps,
        measured_step_ms,            -- median of the measured steps without the profiler, mean over repeats
        no_sync_step_ms,             -- median step of the slowest rank without synchronisation (ddp)
        no_sync_saving_ms,  -- measured_step_ms minus no_sync_step_ms: the time that communication adds to a step
        no_sync_saving_ms - of_savings.t * sqrt(saving_variance) AS no_sync_saving_ms_lo,
        no_sync_saving_ms + of_savings.t * sqrt(saving_variance) AS no_sync_saving_ms_hi
    FROM over_repeats
    LEFT JOIN quantiles AS of_repeats ON of_repeats.number = repeats
    LEFT JOIN quantiles AS of_savings ON of_savings.number = savings
)
SELECT * FROM final;
