-- One row per session, case and placement with an ok repeat: throughput, speedup and efficiency with 95 % intervals.
-- Only throughputs in examples/s, which an import may not have.
SELECT
    session_id,
    case_name,
    workload,
    scaling_mode,
    strategy,
    axis,
    workers,
    placement,
    locality,
    oversubscribed,
    repeats,
    if(throughput_unit = 'examples/s', throughput, NULL) AS throughput,
    if(throughput_unit = 'examples/s', throughput_lo, NULL) AS throughput_lo,
    if(throughput_unit = 'examples/s', throughput_hi, NULL) AS throughput_hi,
    if(scaling_mode = 'none', NULL, speedup) AS speedup,
    if(scaling_mode = 'none', NULL, speedup_lo) AS speedup_lo,
    if(scaling_mode = 'none', NULL, speedup_hi) AS speedup_hi,
    if(scaling_mode = 'none', NULL, efficiency) AS efficiency,
    if(scaling_mode = 'none', NULL, efficiency_lo) AS efficiency_lo,
    if(scaling_mode = 'none', NULL, efficiency_hi) AS efficiency_hi
FROM scaling
WHERE list_contains($session_ids, session_id) AND scaling.throughput IS NOT NULL
ORDER BY list_position($session_ids, session_id), case_name, workers, nodes, threads;
