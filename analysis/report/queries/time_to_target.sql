-- One row per case and placement that was to train until a target, in the order of their batches.
SELECT
    case_name, placement, axis, workers, global_batch, until_loss, reached, missed, steps, seconds, seconds_lo,
    seconds_hi, baseline_case, baseline_workers, is_baseline, speedup, speedup_lo, speedup_hi
FROM time_to_target
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
