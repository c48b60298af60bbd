-- One row per validation of an attempt: its result and its time.
CREATE OR REPLACE VIEW validations AS
WITH runs_of AS (
    SELECT session_id, run_id, attempt, examples_per_step, dataset_size FROM runs
),
-- Only the few steps before a validation are joined.
last_steps AS (
    SELECT session_id, run_id, attempt, step, end_ns
    FROM step_stats
    WHERE kind IN ('warmup', 'measured') AND step IN (SELECT evals.step - 1 FROM evals)
),
final AS (
    SELECT
        session_id, run_id, attempt,
        evals.step,  -- steps completed before it
        coalesce(evals.epoch, evals.step * examples_per_step / dataset_size) AS epoch,  -- passes over the data by then
        last_steps.end_ns / 1e9 AS time_s,  -- end of the last step before it, since the ranks' common barrier
        val_loss, val_accuracy
    FROM evals
    JOIN runs_of USING (session_id, run_id, attempt)
    LEFT JOIN last_steps
        ON last_steps.session_id = evals.session_id AND last_steps.run_id = evals.run_id
        AND last_steps.attempt = evals.attempt AND last_steps.step = evals.step - 1
)
SELECT * FROM final;
