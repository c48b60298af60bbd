-- One row per case and placement that was to train until a target, in the order of their batches.
SELECT
    case_name, placement, axis, workers, global_batch, until_loss, runs, reached, missed, estimate,
    examples, examples_lo, examples_hi, seconds, seconds_lo, seconds_hi, throughput, training_share, setup_share,
    validation_share, baseline_case, baseline_workers, is_baseline,
    throughput_factor, throughput_factor_lo, throughput_factor_hi,
    examples_factor, examples_factor_lo, examples_factor_hi,
    share_factor, share_factor_lo, share_factor_hi,
    efficiency, efficiency_lo, efficiency_hi, bound, costs_most
FROM target_efficiency
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
