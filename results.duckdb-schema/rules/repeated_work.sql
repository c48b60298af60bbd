-- title: Repeated pauses are left out
-- severity: warning
-- meaning: At equal distances the script makes forward passes without gradients, or saves. bench leaves these pauses out.
--   If they are a part of the training, as the rollouts of reinforcement learning are, the figures show only the rest.
--
-- Fires if pauses of one known kind take more than a tenth of the time of an ok run, without --pauses, and two or more,
-- warm-up included, follow each other at equal distances.
WITH paused_steps AS (
    SELECT DISTINCT session_id, run_id, attempt, kind, step FROM pauses
),
each_run AS (
    SELECT
        session_id, run_id, attempt, kind,
        list(step ORDER BY step) AS steps,
        list_distinct([steps[place + 1] - steps[place] FOR place IN range(1, len(steps))]) AS distances
    FROM paused_steps
    GROUP BY session_id, run_id, attempt, kind
),
judged AS (
    SELECT
        run_summary.*, kind,
        if(kind = 'validation', validation_share, saving_share) AS share,
        distances[1] AS every
    FROM each_run
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND workload = 'command' AND run_summary.pauses IS NULL AND len(distances) = 1
        AND distances[1] > 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    max(share) AS magnitude,
    format(
        'every {} steps a pause of the kind {} takes {} of the time of {}', arg_max(every, share),
        arg_max(kind, share), percent_text(max(share)), arg_max(run_id, share)
    ) AS evidence,
    'Give --pauses count if this work is a part of the training. With --resume, nothing is measured again.' AS advice
FROM judged
WHERE share > 0.1
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
