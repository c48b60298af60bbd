-- title: Training pauses at a regular interval
-- severity: warning
-- meaning: Every N-th step takes much longer than the others. Something runs at that interval: logging, saving,
--   collecting garbage, or reading a loss, which waits for the GPU.
--
-- Fires if the table regular_pauses has the placement, and its pauses take more than 2 % of the time, by the lower end
-- of the interval if there is one. With one repeat the finding is likely.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(share_lo IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        'one step in {} takes {} ms longer, {} times as long as the median step: {} of the time; {}',
        period_steps, number_text(pause_ms), number_text(times_usual), share_text(share, share_lo, share_hi),
        CASE
            WHEN phase = 'data' THEN 'the pause is in waiting for data'
            WHEN phase IS NOT NULL THEN 'the pause is in ' || phase
            ELSE 'the pause is between two steps, or on changing ranks'
        END
    ) AS evidence,
    format(
        'Find what runs once in {} steps{}, and do it less often or in the background.', period_steps,
        CASE
            WHEN phase = 'data' THEN ' while a batch is made, such as opening the next file'
            WHEN phase IS NULL THEN ', such as logging or saving'
            ELSE ''
        END
    ) AS advice
FROM regular_pauses
WHERE coalesce(share_lo, share) > 0.02
