-- One row per placement and pair of cases that differ only in strategy, with the recommended one. only_skipped: every
-- run of one side was skipped there.
WITH skipped_placements AS (
    SELECT case_name, nodes, ranks_per_node, threads
    FROM coverage
    WHERE session_id = $session_id AND planned > 0 AND skipped = planned
)
SELECT
    reference_case, case_name, placement, scaling_mode, precision, reference_strategy, strategy,
    time_ratio, time_ratio_lo, time_ratio_hi, reference_peak_memory_bytes, peak_memory_bytes, memory_ratio,
    recommendation, reason,
    EXISTS (
        FROM skipped_placements AS side
        WHERE
            side.case_name IN (pair.case_name, pair.reference_case) AND side.nodes = pair.nodes
            AND side.ranks_per_node = pair.ranks_per_node AND side.threads = pair.threads
    ) AS only_skipped
FROM strategy_comparison AS pair
WHERE session_id = $session_id
ORDER BY reference_case, case_name, workers, nodes, threads;
