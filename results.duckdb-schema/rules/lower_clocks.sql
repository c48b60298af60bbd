-- title: Lower clocks at this size
-- severity: notice
-- meaning: The GPUs run at a lower clock here than at the baseline, since more of them share power or cooling. That
--   part of the lost efficiency is no fault of the training.
--
-- Fires where the term `clocks` of efficiency_loss is 2 % of the ranks' time or more with its whole interval; without
-- an interval it is likely from 5 % on. Reasons that the GPU itself names are in throttled and power_capped.
WITH clocks AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, avg(sm_clock_mhz) AS clock_mhz
    FROM hardware_use
    GROUP BY ALL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(share_lo IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        'lower clocks than at the baseline take {} of the time{}', share_text(share, share_lo, share_hi),
        coalesce(format('; they are {:,.0f} MHz on average', clock_mhz), '')
    ) AS evidence,
    'Look at the charts of clocks, power and temperature: by heat it is the node''s cooling, by power its limit. Judge '
    'the network by what is left.' AS advice
FROM efficiency_loss
LEFT JOIN clocks USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE term = 'clocks' AND NOT oversubscribed AND (share_lo > 0.02 OR (share_lo IS NULL AND share > 0.05))
