-- title: One rank has more work than the others
-- severity: warning
-- meaning: Ranks meet in every step, so all of them wait for the one that has most to compute. The rank is not slow: it
--   has more tokens or examples.
--
-- Fires if `stragglers` calls a rank a straggler, and its counted tokens or examples exceed those of the median rank by
-- at least half as much, relatively, as its time before it first waits.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(strategy = 'command', 'likely', 'shown') AS certainty,
    cost,
    format(
        'rank {} has {} {} per step, the median rank {}; it takes {} ms [{}, {}] longer before it first waits, and the '
        'others wait for it', rank, number_text(work), work_unit, number_text(median_work), number_text(excess_ms),
        number_text(excess_ms_lo), number_text(excess_ms_hi)
    ) AS evidence,
    format(
        'Give each rank as many {} per step: sort examples by length into batches, or divide a batch by its {}.',
        work_unit, work_unit
    ) AS advice
FROM stragglers
WHERE is_straggler AND has_more_work
QUALIFY row_number() OVER (
    PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY excess_ms DESC, rank
) = 1
