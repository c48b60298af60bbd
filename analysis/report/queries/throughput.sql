-- One row per case and placement with an ok repeat: geometric mean over its repeats, with the 95 % interval.
SELECT
    case_name,
    scaling_mode,
    axis,
    workers,
    placement,
    locality,
    oversubscribed,
    repeats,
    throughput,
    throughput_lo,
    throughput_hi,
    throughput_unit,
    tokens_per_s
FROM scaling
WHERE session_id = $session_id AND throughput IS NOT NULL
ORDER BY case_name, workers, nodes, threads;
