-- One row per step of an attempt that trains, warm-up included and profiled steps left out, up to the first whose loss
-- is not finite: what follows that one says nothing about learning.
CREATE OR REPLACE VIEW training_steps AS
WITH ends AS (
    SELECT session_id, run_id, attempt, min(step) AS nonfinite_step
    FROM step_stats
    WHERE kind IN ('warmup', 'measured') AND nonfinite_losses > 0
    GROUP BY session_id, run_id, attempt
),
final AS (
    SELECT
        session_id, run_id, attempt, step, end_ns,
        loss,  -- mean over ranks; null where it is not finite on any rank
        step IS NOT DISTINCT FROM nonfinite_step AS nonfinite  -- whether it is the step at which the curve ends
    FROM step_stats
    LEFT JOIN ends USING (session_id, run_id, attempt)
    WHERE kind IN ('warmup', 'measured') AND (nonfinite_step IS NULL OR step <= nonfinite_step)
)
SELECT * FROM final;
