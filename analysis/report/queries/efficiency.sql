-- One row per case and placement that has an efficiency: speedup / workers, with the 95 % interval over repeats.
SELECT
    case_name,
    scaling_mode,
    axis,
    workers,
    placement,
    locality,
    oversubscribed,
    repeats,
    efficiency,
    efficiency_lo,
    efficiency_hi,
    coalesce(verdict, 'none') AS verdict
FROM scaling
WHERE session_id = $session_id AND scaling_mode <> 'none' AND efficiency IS NOT NULL
ORDER BY case_name, workers, nodes, threads;
