-- title: Fragmented memory
-- severity: warning
-- meaning: The allocator holds much more GPU memory than tensors ever used, in pieces between those in use. A large
--   tensor may then not fit although enough memory is free in total, and the allocator loses time returning pieces.
--
-- Fires on GPUs that are nearly full (less than a tenth free, or out of memory) if at least a tenth of the memory is
-- held but unused. That follows from the peaks of held and of allocated memory, or from torch's own error message. If
-- memory is free, unused memory that the allocator keeps costs nothing.
WITH errors AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        max(
            regexp_extract(error, 'and ([0-9.]+) (?:GiB|MiB) is reserved by PyTorch but unallocated', 1)::DOUBLE
            * if(contains(error, ' MiB is reserved by PyTorch but unallocated'), 2 ** 20, 2 ** 30)
        ) AS unallocated_bytes
    FROM runs
    WHERE probe IS NOT TRUE AND status = 'oom' AND contains(error, 'is reserved by PyTorch but unallocated')
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
sessions_with AS (
    SELECT session_id, bool_or(contains(value, 'expandable_segments:True')) AS has_segments
    FROM environment
    WHERE key IN ('PYTORCH_ALLOC_CONF', 'PYTORCH_CUDA_ALLOC_CONF')
    GROUP BY session_id
),
places AS (
    SELECT
        memory.*, has_segments,
        least(device_memory_bytes, memory_limit_bytes) AS available_bytes,
        coalesce(unallocated_bytes, peak_memory_reserved_bytes * (1 - 1 / reserved_to_allocated)) AS unused_bytes
    FROM memory
    LEFT JOIN errors USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN sessions_with USING (session_id)
    WHERE device_type = 'cuda'
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    unused_bytes AS magnitude,
    format(
        '{} of {} are held by the allocator but unused, and {}', format_bytes(unused_bytes::BIGINT),
        format_bytes(available_bytes),
        if(
            oom_runs > 0, format('{} of {} runs ran out of memory', oom_runs, runs),
            format('only {} of the device is free', percent_text(free_share))
        )
    ) AS evidence,
    if(
        has_segments, '',
        'Set PYTORCH_ALLOC_CONF=expandable_segments:True (before torch 2.9: PYTORCH_CUDA_ALLOC_CONF), so that pieces '
        'of memory can grow. '
    ) || 'Give all batches the same shape, or few shapes: each new shape leaves pieces that fit no other.' AS advice
FROM places
WHERE unused_bytes >= 0.1 * available_bytes AND (free_share < 0.1 OR oom_runs > 0)
