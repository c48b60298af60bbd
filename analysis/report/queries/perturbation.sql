-- One row per case and placement: the cost of measuring per step, or why it was not measured.
SELECT
    case_name, placement, workers, nodes, threads, pairs, bare_step_ms,
    difference_us, difference_us_lo, difference_us_hi, share, share_lo, share_hi, left_out
FROM perturbation
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
