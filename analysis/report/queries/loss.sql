-- One row per case, placement and bin of steps: mean training loss over ranks and the steps of the bin. The first ok
-- repeat of each placement: all placements then have the same seed, if all repeats succeeded. Includes warm-up, which
-- trains too; every step up to 60, else 60 bins of neighbouring steps. Beyond 12 cases: the 12 whose sizes differ most
-- in their last loss, those with a loss that is not finite first. A run with such a loss ends at its first one, with a
-- row whose loss is null.
WITH ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS panel_count,
        row_number() OVER (
            ORDER BY max(nonfinite_losses) > 0 DESC, max(final_loss) - min(final_loss) DESC, case_name
        ) AS place
    FROM first_runs
    WHERE session_id = $session_id
    GROUP BY case_name
),
training AS (
    SELECT case_name, workers, placement, repeat, panel_count, step, loss, nonfinite, steps_completed AS steps
    FROM training_steps
    JOIN first_runs USING (session_id, run_id, attempt)
    JOIN ranked USING (case_name)
    WHERE session_id = $session_id AND place <= 12
),
final AS (
    SELECT
        case_name, workers, placement, repeat,
        min(step) AS step,
        avg(loss) AS loss,
        any_value(panel_count) AS panel_count
    FROM training
    GROUP BY case_name, workers, placement, repeat, nonfinite, if(steps <= 60, step, step * 60 // steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
