-- One row per placement and pair of cases that differ in strategy alone, with what that recommends.
SELECT
    reference_case, case_name, placement, scaling, precision, reference_strategy, strategy,
    time_ratio, time_ratio_lo, time_ratio_hi, reference_peak_memory_bytes, peak_memory_bytes, memory_ratio,
    recommendation, reason
FROM strategy_comparison
WHERE session_id = $session_id
ORDER BY reference_case, case_name, workers, nodes, threads;
