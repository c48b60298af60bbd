-- One row per case and placement that has a speedup: relative to its baseline, with the 95 % interval over repeats.
SELECT
    case_name,
    scaling_mode,
    axis,
    workers,
    placement,
    locality,
    oversubscribed,
    repeats,
    speedup,
    speedup_lo,
    speedup_hi
FROM scaling
WHERE session_id = $session_id AND scaling_mode <> 'none' AND speedup IS NOT NULL
ORDER BY case_name, workers, nodes, threads;
