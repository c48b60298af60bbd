-- One row per case, placement and term of lost efficiency, as in efficiency_loss, with the interval of the efficiency
-- and the verdicts at its ends.
SELECT
    lost.case_name, lost.placement, lost.axis, lost.workers, nodes, ranks_per_node, threads, lost.oversubscribed,
    lost.baseline_case, lost.baseline_workers, lost.repeats, lost.efficiency, lost.efficiency_lo, lost.efficiency_hi, verdict_lo,
    verdict_hi, term, term_order, share, share_lo, share_hi, rank_s_per_example, lost_ms, known_by
FROM efficiency_loss AS lost
LEFT JOIN scaling USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE session_id = $session_id
ORDER BY lost.case_name, lost.workers, nodes, threads, term_order;
