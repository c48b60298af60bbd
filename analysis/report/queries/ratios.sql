-- One row per case and placement that both sessions ran: the candidate's throughput over the baseline's.
SELECT *, placement_of(nodes, ranks_per_node, axis, threads) AS placement
FROM compare($baseline, $candidate, $margin)
ORDER BY case_name, workers, nodes, threads;
