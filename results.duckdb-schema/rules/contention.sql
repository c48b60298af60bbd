-- title: Ranks slow each other's computation
-- severity: warning
-- meaning: A rank has as much to compute as at the baseline, and takes longer for it: neighbours on the same machine
--   share memory bandwidth, caches, power or cores. No network and no smaller batch explains that.
--
-- Fires under weak scaling where what computation has grown by (computation_growth: beyond what lower clocks cost) is
-- 5 % of the step or more and at least half of the remainder of efficiency_loss, whose interval lies above 5 %; without
-- an interval it is likely.
WITH remainders AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, share, share_lo, is_decided
    FROM efficiency_loss
    WHERE term = 'remainder'
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(share_lo IS NOT NULL AND is_decided, 'shown', 'likely') AS certainty,
    least(growth_share, share) AS cost,
    format(
        'a rank computes for {} ms in a step, where it takes {} ms on {} {} for as many examples: {} longer{}',
        number_text(computation_ms), number_text(baseline_computation_ms), baseline_workers,
        if(baseline_workers = 1, 'rank', 'ranks'), percent_text(growth),
        if(clocks_ms > 0, ', beside what lower clocks cost', '')
    ) AS evidence,
    'Give each rank more of the machine: fewer ranks per node, or ranks on separate sockets. On one CPU more threads '
    'in one rank may do better than more ranks; fewer bits (bf16) need less memory bandwidth.' AS advice,
    if(nodes = 1 AND ranks_per_node > 2, format('--world {}', ranks_per_node // 2), NULL) AS knob
FROM computation_growth
JOIN remainders USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE growth_share >= 0.05 AND growth_share >= 0.5 * share AND coalesce(share_lo, share) > 0.05
