-- One row per validation of an attempt: what it reached, and when.
CREATE OR REPLACE VIEW validations AS
WITH runs_of AS (
    SELECT session_id, run_id, attempt, examples_per_step, dataset_size FROM runs
),
final AS (
    SELECT
        session_id, run_id, attempt,
        evals.step,  -- steps completed before it
        coalesce(evals.epoch, evals.step * examples_per_step / dataset_size) AS epoch,  -- reached by then
        step_stats.end_ns / 1e9 AS time_s,  -- end of the last step before it, since the ranks' common barrier
        val_loss, val_accuracy
    FROM evals
    JOIN runs_of USING (session_id, run_id, attempt)
    LEFT JOIN step_stats
        ON step_stats.session_id = evals.session_id AND step_stats.run_id = evals.run_id
        AND step_stats.attempt = evals.attempt AND step_stats.step = evals.step - 1 AND kind <> 'profiled'
)
SELECT * FROM final;
