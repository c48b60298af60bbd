-- One row per case and placement that both sessions ran: the candidate's throughput over the baseline's.
SELECT *
FROM compare($baseline, $candidate, margin := $margin, max_regression := $limit)
ORDER BY case_name, workers, nodes, threads;
