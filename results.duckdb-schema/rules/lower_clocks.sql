-- title: Lower clocks at this size
-- severity: notice
-- meaning: The GPUs run at a lower clock here than at the baseline, because more of them share power or cooling. The
--   training does not cause this part of the lost efficiency.
--
-- Fires if the term `clocks` of efficiency_loss costs at least 2 % of the ranks' time, with its whole interval above
-- that. Without an interval, the finding is likely from 5 % on. The rules throttled and power_capped report the
-- reasons that the GPU itself gives.
WITH clocks AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, avg(sm_clock_mhz) AS clock_mhz
    FROM hardware_use
    GROUP BY ALL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    certainty_of(known_by, share_lo) AS certainty,
    share AS cost,
    format(
        'lower clocks than at the baseline cost {} of the time{}', share_text(share, share_lo, share_hi),
        coalesce(format('; the clock is {:,.0f} MHz on average', clock_mhz), '')
    ) AS evidence,
    'Check the charts of clocks, power and temperature: heat points to the node''s cooling, power to its limit. Judge '
    'the network by the rest of the loss.' AS advice
FROM efficiency_loss
LEFT JOIN clocks USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE term = 'clocks' AND NOT oversubscribed AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
    AND (share_lo > 0.02 OR (share_lo IS NULL AND share > 0.05))
