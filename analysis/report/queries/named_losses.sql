-- One row per case, name of a loss, placement and bin of steps: mean over ranks and the steps of the bin. The first ok
-- repeat of each placement, with warm-up; every step up to 60, else 60 bins of neighbouring steps. A panel is a case and a
-- name, as in `ddp: divergence`; the first 12 in alphabetical order.
WITH ranked AS (
    SELECT
        case_name, workers, placement, repeat, step, loss, steps_completed AS steps,
        case_name || ': ' || name AS panel,
        dense_rank() OVER (ORDER BY case_name, name) AS place
    FROM named_losses
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id
),
final AS (
    SELECT
        case_name, panel, workers, placement, repeat,
        min(step) AS step,
        avg(loss) AS loss,
        any_value((SELECT max(place) FROM ranked)) AS panel_count
    FROM ranked
    WHERE place <= 12
    GROUP BY case_name, panel, workers, placement, repeat, if(steps <= 60, step, step * 60 // steps)
)
SELECT * FROM final ORDER BY panel, workers, placement, step;
