-- title: Too few repeats for an answer
-- severity: notice
-- meaning: The repeats differ so much that the interval reaches from one verdict into the next, or is wider than the
--   suite requests. The point is the best guess, but not a decision.
--
-- Fires if further repeats would bring both ends of the efficiency's interval under one verdict, throughput to
-- measure.until or efficiency to measure.until_efficiency, as `scaling` says. Does not fire if the interval spans more
-- than two verdicts, which is undecided. Nor does it fire if the verdict would take more than five times the current
-- number of repeats: the efficiency is then near the border of two verdicts, or the repeats are too few to tell. For
-- each case, the rule reports the size that needs the most repeats.
WITH wanted AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, repeats, slow_repeats, efficiency, efficiency_lo,
        efficiency_hi, verdict_lo, verdict_hi, until, throughput, throughput_unit, throughput_lo, throughput_hi, speedup,
        speedup_hi, until_efficiency,
        coalesce(repeats_needed_until, 0) AS for_until,
        coalesce(repeats_needed_until_efficiency, 0) AS for_until_efficiency,
        if(repeats_needed <= 4 * repeats AND NOT is_open(verdict_lo, verdict_hi), repeats_needed, 0) AS for_verdict,
        greatest(for_until, for_until_efficiency, coalesce(for_verdict, 0)) AS more
    FROM scaling
    WHERE NOT oversubscribed
    QUALIFY row_number() OVER (PARTITION BY session_id, case_name ORDER BY more DESC, workers DESC, nodes) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    more AS magnitude,
    CASE more
        WHEN for_until THEN format(
            'throughput is {} {}{} with {} repeats, but the suite requests ±{}',
            number_text(throughput), throughput_unit,
            if(
                is_too_wide(throughput_lo, throughput_hi),
                ', too noisy for an interval,',
                format(' [{}, {}]', number_text(throughput_lo), number_text(throughput_hi))
            ),
            repeats, percent_text(until)
        )
        WHEN for_until_efficiency THEN format(
            'efficiency is known to within ±{} with {} repeats, but the suite requests ±{}',
            percent_text(speedup_hi / speedup - 1), repeats, percent_text(until_efficiency)
        )
        ELSE format(
            'efficiency is {} with {} repeats: {} or {}',
            if(
                is_too_wide(efficiency_lo, efficiency_hi),
                percent_text(efficiency),
                share_text(efficiency, efficiency_lo, efficiency_hi)
            ),
            repeats, verdict_lo, verdict_hi
        )
    END AS evidence,
    if(
        more > 4 * repeats,
        'Measure on a quiet machine, with more repeats.',
        'Take more repeats. Until then, report the interval.'
    ) AS advice,
    format('--repeats {}', repeats + slow_repeats + least(more, 4 * repeats)) AS options
FROM wanted
WHERE more > 0
