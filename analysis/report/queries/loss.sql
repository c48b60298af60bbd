-- One row per case, placement and bin of steps: mean training loss over ranks and the steps of the bin. The first ok
-- repeat of each placement, so that all placements have the same seed where all repeats succeeded; warm-up steps
-- included, they train too; every step up to 60, else 60 bins of neighbouring steps. Beyond 12 cases: the 12 whose
-- sizes differ most in their last loss, those with a loss that is not finite first. A run with such a loss ends at its
-- first one, with a row whose loss is null.
WITH first_runs AS (
    SELECT * FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS of_all,
        row_number() OVER (
            ORDER BY max(nonfinite_losses) > 0 DESC, max(final_loss) - min(final_loss) DESC, case_name
        ) AS place
    FROM first_runs
    GROUP BY case_name
),
shown_runs AS (
    SELECT first_runs.*, of_all FROM first_runs JOIN ranked USING (case_name) WHERE place <= 12
),
training AS (
    SELECT
        case_name, workers, placement, repeat, of_all, step, loss, steps_completed AS steps,
        min(step) FILTER (step_stats.nonfinite_losses > 0) OVER (PARTITION BY run_id, attempt) AS nonfinite_step
    FROM step_stats
    JOIN shown_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND kind <> 'profiled'
),
final AS (
    SELECT
        case_name, workers, placement, repeat,
        min(step) AS step,
        avg(loss) AS loss,
        any_value(of_all) AS of_all
    FROM training
    WHERE nonfinite_step IS NULL OR step <= nonfinite_step
    GROUP BY
        case_name, workers, placement, repeat, step IS NOT DISTINCT FROM nonfinite_step,
        if(steps <= 60, step, step * 60 // steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
