-- One row per step of an attempt that trains, warm-up included and profiled steps left out, up to and including the
-- first step whose loss is not finite; later steps say nothing about learning.
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
        loss,  -- mean over ranks; null if the loss of any rank is not finite
        step IS NOT DISTINCT FROM nonfinite_step AS nonfinite  -- whether the curve ends at this step
    FROM step_stats
    LEFT JOIN ends USING (session_id, run_id, attempt)
    WHERE kind IN ('warmup', 'measured') AND (nonfinite_step IS NULL OR step <= nonfinite_step)
)
SELECT * FROM final;
