-- One row per case and placement at which find_batch searched for the largest micro-batch that fits.
SELECT
    case_name, placement, strategy, workers, largest_micro_batch, too_large_micro_batch, too_large_status, too_large_error,
    peak_memory_allocated_bytes, peak_memory_reserved_bytes, used_bytes, available_bytes, headroom_bytes,
    micro_batch, accumulate, batch_per_rank, global_batch
FROM batch_limits
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
