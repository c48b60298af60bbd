-- title: Ranks compute longer than at the baseline
-- severity: warning
-- meaning: A rank has as much to compute as at the baseline but takes longer, because its neighbours on the same
--   machine share memory bandwidth, caches, power or cores. Neither the network nor a smaller batch explains that.
--
-- Fires under weak scaling if the term `work` of efficiency_loss (longer computation, without the cost of lower clocks)
-- is above 5 % of the ranks' time with its whole interval; of an estimate, with its point. Without an interval the
-- finding is likely.
WITH longer AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, share, share_lo, known_by
    FROM efficiency_loss
    WHERE term = 'work' AND least_share_of(known_by, share, share_lo) > 0.05
        AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    certainty_of(longer.known_by, share_lo) AS certainty,
    share AS cost,
    format(
        'a rank computes for {} ms per step, compared with {} ms on {} {} for as many examples: {} longer{}',
        number_text(computation_ms), number_text(baseline_computation_ms), baseline_workers,
        if(baseline_workers = 1, 'rank', 'ranks'), percent_text(growth),
        if(clocks_ms > 0, ', in addition to the cost of lower clocks', '')
    ) AS evidence,
    'Give each rank more of the machine: use fewer ranks per node, or ranks on separate sockets.' AS advice,
    'On one CPU, more threads in one rank may be better than more ranks; lower precision (bf16) needs less memory '
    'bandwidth.' AS alternatives,
    CASE
        WHEN nodes = 1 AND ranks_per_node // 2 > baseline_workers
            AND (session_id, case_name, ranks_per_node // 2) NOT IN (SELECT session_id, case_name, workers FROM scaling)
        THEN format('--world {},{}', baseline_workers, ranks_per_node // 2)
    END AS options
FROM computation_growth
JOIN longer USING (session_id, case_name, nodes, ranks_per_node, threads)
