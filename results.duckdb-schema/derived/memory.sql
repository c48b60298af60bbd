-- One row per session, case and placement: memory per rank as its allocator reports it (on a CPU: its resident set),
-- and per device and node as the sensors report it, other processes included; the memory left on the device, and
-- whether memory grows from step to step. Peaks cover all ranks and repeats of any status: a run that ran out of memory
-- shows how far it got. Growth covers ok repeats only.
WITH limits AS (
    SELECT session_id, run_id, attempt, memory_limit_bytes, memory_before_bytes FROM runs
),
sampled AS (
    SELECT
        session_id, run_id, attempt,
        max(memory_used_bytes_peak) FILTER (ranks > 0) AS device_memory_used_bytes,
        max(memory_used_bytes_peak) FILTER (device IS NULL) AS host_memory_used_bytes,
        max(rss_bytes_peak) FILTER (device IS NULL) AS node_rss_bytes
    FROM run_device_stats
    GROUP BY session_id, run_id, attempt
),
ranks AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, status, rank,
        memory_reserved_bytes_peak / nullif(memory_allocated_bytes_peak, 0) AS reserved_to_allocated,
        memory_growth_bytes_per_step,
        memory_grows
    FROM run_rank_stats
    JOIN run_summary USING (session_id, run_id, attempt)
),
each_rank AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, rank,
        max(reserved_to_allocated) AS reserved_to_allocated,
        avg(memory_growth_bytes_per_step) FILTER (status = 'ok') AS growth,
        coalesce(bool_and(memory_grows) FILTER (status = 'ok'), false) AS grows
    FROM ranks
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, rank
),
over_ranks AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        max(reserved_to_allocated) AS reserved_to_allocated,
        max(growth) AS growth_bytes_per_step,
        -- the smallest among ranks that grow equally; none if nothing grows
        CASE WHEN max(growth) <> 0 THEN arg_max(rank, (growth, -rank)) FILTER (growth IS NOT NULL) END
            AS fastest_growing_rank,
        max(growth) FILTER (grows) AS steady_growth,
        arg_max(rank, (growth, -rank)) FILTER (grows AND growth > 0) AS growing_rank,
        if(count(growth) > 0, bool_or(grows), NULL) AS is_growing
    FROM each_rank
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
-- The smallest device and node of the session, because a rank's location is not considered.
totals AS (
    SELECT
        session_id,
        min(TRY_CAST(value AS BIGINT)) FILTER (regexp_full_match(key, 'gpu[0-9]+_memory_bytes')) AS gpu_bytes,
        min(TRY_CAST(value AS BIGINT)) FILTER (key = 'memory_bytes') AS node_bytes
    FROM environment
    GROUP BY session_id
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        any_value(device_type) AS device_type,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(memory_limit_bytes) AS memory_limit_bytes,
        max(memory_before_bytes) AS memory_before_bytes,
        count(*) AS runs,  -- number of last attempts with any status
        count(*) FILTER (status = 'oom') AS oom_runs,  -- number of these that ran out of memory
        max(peak_memory_allocated_bytes) AS peak_memory_allocated_bytes,  -- largest over ranks and repeats
        max(peak_memory_reserved_bytes) AS peak_memory_reserved_bytes,  -- null on a CPU
        -- mean_memory_allocated_bytes: mean over ranks, measured steps and repeats
        avg(mean_memory_allocated_bytes) AS mean_memory_allocated_bytes,
        avg(mean_memory_reserved_bytes) AS mean_memory_reserved_bytes,  -- null on a CPU
        max(device_memory_used_bytes) AS peak_device_memory_used_bytes,  -- from the sensors; null on a CPU
        -- peak_host_memory_used_bytes: of a node with all its processes, from the sensors
        max(host_memory_used_bytes) AS peak_host_memory_used_bytes,
        max(node_rss_bytes) AS peak_node_rss_bytes  -- all ranks of a node together
    FROM run_summary
    JOIN limits USING (session_id, run_id, attempt)
    LEFT JOIN sampled USING (session_id, run_id, attempt)
    GROUP BY session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node,
        threads
),
with_totals AS (
    SELECT
        over_repeats.*,
        over_ranks.* EXCLUDE (session_id, case_name, nodes, ranks_per_node, threads),
        if(device_type = 'cuda', gpu_bytes, node_bytes) AS device_memory_bytes,
        if(
            device_type = 'cuda',
            greatest(peak_device_memory_used_bytes, peak_memory_reserved_bytes),
            peak_host_memory_used_bytes
        ) AS occupied_bytes,
        CASE
            WHEN device_type = 'cuda' THEN peak_memory_reserved_bytes
            WHEN peak_memory_allocated_bytes > memory_before_bytes
            THEN peak_memory_allocated_bytes - memory_before_bytes
        END AS limited_bytes
    FROM over_repeats
    LEFT JOIN over_ranks USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN totals USING (session_id)
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        device_type, batch_per_rank, runs, oom_runs,
        peak_memory_allocated_bytes, peak_memory_reserved_bytes,
        mean_memory_allocated_bytes, mean_memory_reserved_bytes,
        reserved_to_allocated,         -- largest ratio of a rank's two peaks; the excess over 1 is unused cache
        peak_device_memory_used_bytes, peak_host_memory_used_bytes, peak_node_rss_bytes,
        device_memory_bytes,           -- memory of the session's smallest GPU; on a CPU of its smallest node
        -- headroom_bytes: device_memory_bytes minus the largest use seen by allocator or sensors, others included
        device_memory_bytes - occupied_bytes AS headroom_bytes,
        memory_limit_bytes,            -- measure.memory_limit_bytes, per rank; null: no limit
        -- free_share: headroom ÷ device_memory_bytes, or the unused share of a rank's limit if smaller; null: unknown
        end_of_share(least(headroom_bytes / device_memory_bytes, 1 - limited_bytes / memory_limit_bytes)) AS free_share,
        is_growing,  -- whether a rank's memory keeps rising in every ok repeat with enough readings; null: too few
        -- growth_bytes_per_step: reliable rise of the memory floor of the fastest-growing rank, mean over ok repeats
        coalesce(steady_growth, growth_bytes_per_step) AS growth_bytes_per_step,
        -- growing_rank: fastest-growing rank, the smallest of equals; null: none
        coalesce(growing_rank, fastest_growing_rank) AS growing_rank,
        -- steps_to_full: headroom ÷ growth; null if nothing grows or the headroom is unknown
        if(is_growing, if(headroom_bytes < 0, 0, headroom_bytes) / steady_growth, NULL)::BIGINT AS steps_to_full
    FROM with_totals
)
SELECT * FROM final;
