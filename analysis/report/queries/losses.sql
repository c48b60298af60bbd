-- One row per case, placement and term of what was lost, as in efficiency_loss.
SELECT
    case_name, placement, axis, workers, nodes, ranks_per_node, threads, oversubscribed, baseline_case,
    baseline_workers, repeats, efficiency, term, term_order, share, share_lo, share_hi, rank_s_per_example, lost_ms,
    known_by
FROM efficiency_loss
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads, term_order;
