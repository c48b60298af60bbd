-- One row per session, case and placement: memory per rank as its allocator saw it (on a CPU: its resident set), and
-- per device and node as the sensors saw it, other processes included. Peaks over ranks and repeats, whatever their
-- status: a run that ran out of memory shows how far it came.
CREATE OR REPLACE VIEW memory AS
WITH summaries AS (
    SELECT * FROM run_summary
),
sampled AS (
    SELECT
        session_id, run_id, attempt,
        max(memory_used_bytes) FILTER (device IS NOT NULL) AS device_memory_used_bytes,
        max(rss_bytes) FILTER (device IS NULL) AS node_rss_bytes
    FROM samples
    GROUP BY session_id, run_id, attempt
),
final AS (
    SELECT
        session_id, suite, case_name, scaling, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        any_value(device_type) AS device_type,
        any_value(batch_per_rank) AS batch_per_rank,
        count(*) AS runs,  -- last attempts, whatever their status
        count(*) FILTER (status = 'oom') AS oom_runs,  -- of these, out of memory
        max(peak_memory_allocated_bytes) AS peak_memory_allocated_bytes,  -- largest over ranks and repeats
        max(peak_memory_reserved_bytes) AS peak_memory_reserved_bytes,  -- null on a CPU
        -- mean_memory_allocated_bytes: mean over ranks, measured steps and repeats
        avg(mean_memory_allocated_bytes) AS mean_memory_allocated_bytes,
        avg(mean_memory_reserved_bytes) AS mean_memory_reserved_bytes,  -- null on a CPU
        max(device_memory_used_bytes) AS peak_device_memory_used_bytes,  -- by the sensors; null on a CPU
        max(node_rss_bytes) AS peak_node_rss_bytes  -- all ranks of a node together
    FROM summaries
    LEFT JOIN sampled USING (session_id, run_id, attempt)
    GROUP BY session_id, suite, case_name, scaling, strategy, axis, workers, world_size, nodes, ranks_per_node, threads
)
SELECT * FROM final;
