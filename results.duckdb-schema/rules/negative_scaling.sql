-- title: Slower on more workers
-- severity: critical
-- meaning: Adding workers made training slower. They contribute less than it costs to keep them in step, so fewer
--   workers train faster on less hardware.
--
-- Fires if throughput is below that of the next smaller size beyond the variation of repeats (`is_slower` of scaling);
-- single repeats do not show it. The finding is only likely in three cases: the larger size trains differently, which
-- must be corrected first, but its steps are slower all the same; the interval of the efficiency spans more than two
-- verdicts; or other work kept the machine busy. The evidence names the largest term
-- of efficiency_loss, if the repeats show it.
WITH largest AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, term, share, share_lo, share_hi, known_by
    FROM efficiency_loss
    WHERE share > 0 AND efficiency < 1
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY share DESC, term_order
    ) = 1 AND term <> 'remainder' AND least_share_of(known_by, share, share_lo) > 0  -- the rest is no reason
),
-- The smaller size that trains most, which is not always the next smaller one.
fastest AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        max_by(workers, throughput) OVER smaller AS fastest_workers,
        max(throughput) OVER smaller AS fastest_throughput
    FROM scaling
    WHERE repeats > 0 AND NOT oversubscribed
    WINDOW smaller AS (
        PARTITION BY session_id, case_name ORDER BY workers RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(NOT is_open(verdict_lo, verdict_hi) AND is_busy IS NOT TRUE, 'shown', 'likely') AS certainty,
    if(efficiency < 1 AND NOT is_loss_unknown(efficiency_lo, efficiency_hi), 1 - efficiency, NULL) AS cost,
    format(
        '{} {} on {} {}, but {} gave {}', number_text(throughput), throughput_unit, workers, axis, next_smaller_workers,
        number_text(next_smaller_throughput)
    )
    || if(
        fastest_workers < next_smaller_workers,
        format(', and {} gave most, {}', fastest_workers, number_text(fastest_throughput)), ''
    )
    || coalesce(
        CASE WHEN NOT is_loss_unknown(efficiency_lo, efficiency_hi) THEN format(
            '; the largest loss of the ranks'' time is {}: {}{}', loss_name(term),
            share_text(share, share_lo, share_hi), if(known_by = 'estimated', ' (estimated)', '')
        ) END,
        ''
    ) AS evidence,
    format(
        'Use {} {}, or give each worker more work per step.',
        least(fastest_workers, next_smaller_workers),
        if(least(fastest_workers, next_smaller_workers) = 1, rtrim(axis, 's'), axis)
    ) AS advice
FROM scaling
JOIN fastest USING (session_id, case_name, nodes, ranks_per_node, threads)
LEFT JOIN other_work USING (session_id)
LEFT JOIN largest USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE is_slower
