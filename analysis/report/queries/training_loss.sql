-- One row per case, placement and bin of steps: mean training loss over ranks and the steps of the bin, with the epoch
-- and the wall time at which the bin ends. The first ok repeat of each placement: all placements then have the same
-- seed, if all repeats succeeded. Includes warm-up, which trains too; every step up to 150, else 100 bins of
-- neighbouring steps. Beyond 8 cases: the 4 whose last loss at their largest size is highest and the 4 lowest; a loss
-- that is not finite counts as the highest. A run with such a loss ends at its first one, with a row whose loss is
-- null.
WITH last_losses AS (
    SELECT case_name, arg_max(coalesce(final_loss, 'infinity'::DOUBLE), workers) AS last_loss
    FROM first_runs
    WHERE session_id = $session_id
    GROUP BY case_name
),
ranked AS (
    SELECT case_name, count(*) OVER () AS panel_count, row_number() OVER (ORDER BY last_loss, case_name) AS place
    FROM last_losses
),
training AS (
    SELECT
        first_runs.*,
        panel_count, dataset_size, training_steps.step, training_steps.end_ns, training_steps.loss, training_steps.nonfinite
    FROM training_steps
    JOIN first_runs USING (session_id, run_id, attempt)
    JOIN ranked USING (case_name)
    JOIN runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND (panel_count <= 8 OR place <= 4 OR place > panel_count - 4)
),
final AS (
    SELECT
        case_name, workers, placement, repeat,
        max(step) AS step,
        (max(step) + 1) * any_value(examples_per_step) / any_value(dataset_size) AS epoch,
        max(end_ns) / 1e9 AS time_s,
        avg(loss) AS loss,
        any_value(panel_count) AS panel_count
    FROM training
    GROUP BY
        case_name, workers, placement, repeat, nonfinite,
        if(steps_completed <= 150, step, step * 100 // steps_completed)
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
