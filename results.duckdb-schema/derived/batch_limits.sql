-- One row per session, case and placement for which find_batch searched the largest micro-batch: what fitted, what did
-- not and why, a rank's memory at the largest micro-batch that fitted, and the batch that was then measured. Memory is
-- that of the rank that needed most. Last attempts only. Sizes are doubled, so the exact limit between the largest that
-- fits and the smallest that does not is unknown.
WITH attempts AS (
    SELECT
        *,
        batch_per_rank // accumulate AS micro_batch,
        status IN ('oom', 'timeout') OR (status = 'failed' AND failed_rank IS NOT NULL) AS is_too_large
    FROM last_attempts()
),
probes AS (
    SELECT * FROM attempts
    LEFT JOIN run_stats USING (session_id, run_id, attempt)
    WHERE probe
),
limits AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        min(micro_batch) FILTER (is_too_large) AS too_large_micro_batch
    FROM probes
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
with_limits AS (
    SELECT
        *,
        status = 'ok' AND micro_batch < coalesce(too_large_micro_batch, micro_batch + 1) AS fits,
        is_too_large AND micro_batch = too_large_micro_batch AS is_the_limit
    FROM probes
    JOIN limits USING (session_id, case_name, nodes, ranks_per_node, threads)
),
searches AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        too_large_micro_batch,
        any_value(device_type) AS device_type,
        count(*) AS probes,  -- probing runs
        max(micro_batch) FILTER (fits) AS largest_micro_batch,
        any_value(status) FILTER (is_the_limit) AS too_large_status,
        any_value(error) FILTER (is_the_limit) AS too_large_error,
        arg_max(memory_limit_bytes, micro_batch) FILTER (fits) AS memory_limit_bytes,
        arg_max(memory_before_bytes, micro_batch) FILTER (fits) AS memory_before_bytes,
        arg_max(memory_allocated_bytes_peak, micro_batch) FILTER (fits) AS peak_memory_allocated_bytes,
        arg_max(memory_reserved_bytes_peak, micro_batch) FILTER (fits) AS peak_memory_reserved_bytes
    FROM with_limits
    GROUP BY
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        too_large_micro_batch
),
-- If no micro-batch fits, nothing was measured and only the requested batch is known.
measured AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(accumulate) AS accumulate,
        any_value(micro_batch) AS micro_batch,
        any_value(batch_per_rank) AS batch_per_rank,
        any_value(global_batch) AS global_batch
    FROM attempts
    WHERE probe IS NOT TRUE AND steps_completed IS NOT NULL
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
devices AS (
    SELECT
        session_id,
        min(TRY_CAST(value AS BIGINT)) FILTER (regexp_full_match(key, 'gpu[0-9]+_memory_bytes')) AS gpu_bytes
    FROM environment
    GROUP BY session_id
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        placement_of(nodes, ranks_per_node, axis, threads) AS placement,  -- nodes x ranks per node: `2x4`
        device_type,
        probes,
        largest_micro_batch,           -- examples per forward pass; null if not even the smallest size tried fits
        too_large_micro_batch,         -- smallest size tried that does not fit; null if all of them fit
        too_large_status,              -- how that run ended: oom, failed, timeout
        too_large_error,               -- first line of its error
        peak_memory_allocated_bytes,   -- at the largest that fits; on a CPU the peak of private memory
        peak_memory_reserved_bytes,    -- at the largest that fits; null on a CPU
        -- used_bytes: reserved memory; on a CPU the growth of private memory since before the model, null if not seen
        CASE
            WHEN device_type = 'cuda' THEN peak_memory_reserved_bytes
            WHEN peak_memory_allocated_bytes > memory_before_bytes
            THEN peak_memory_allocated_bytes - memory_before_bytes
        END AS used_bytes,
        -- available_bytes: measure.memory_limit_bytes, else the smallest GPU's memory, on a CPU a share of the node's
        coalesce(memory_limit_bytes, if(device_type = 'cuda', gpu_bytes, NULL)) AS available_bytes,
        available_bytes - used_bytes AS headroom_bytes,  -- available_bytes minus used_bytes, at the largest that fits
        micro_batch,                   -- of the measured runs: batch_per_rank ÷ accumulate
        accumulate,                    -- of the measured runs: the fewest that keep the micro-batch within the largest
        batch_per_rank, global_batch
    FROM searches
    LEFT JOIN measured USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN devices USING (session_id)
)
SELECT * FROM final;
