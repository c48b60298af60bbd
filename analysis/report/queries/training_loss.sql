-- One row per case, placement and bin of steps: mean training loss over ranks and the steps of the bin, with the epoch
-- and the wall time at which the bin ends. The first ok repeat of each placement, so that all placements have the same
-- seed where all repeats succeeded; warm-up steps included, they train too; every step up to 150, else 100 bins of
-- neighbouring steps. Beyond 8 cases: the 4 whose last loss at their largest size is highest and the 4 lowest; a loss
-- that is not finite counts as the highest. A run with such a loss ends at its first one, with a row whose loss is null.
WITH first_runs AS (
    SELECT * FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS of_all,
        row_number() OVER (ORDER BY last_loss, case_name) AS place
    FROM (
        SELECT case_name, arg_max(coalesce(final_loss, 'infinity'::DOUBLE), workers) AS last_loss
        FROM first_runs
        GROUP BY case_name
    ) AS last_losses
),
shown_runs AS (
    SELECT first_runs.*, of_all, dataset_size
    FROM first_runs
    JOIN ranked USING (case_name)
    JOIN runs USING (session_id, run_id, attempt)
    WHERE of_all <= 8 OR place <= 4 OR place > of_all - 4
),
training AS (
    SELECT
        shown_runs.* EXCLUDE (nonfinite_losses),
        step_stats.step, step_stats.end_ns, step_stats.loss,
        steps_completed AS steps,
        min(step) FILTER (step_stats.nonfinite_losses > 0) OVER (PARTITION BY run_id, attempt) AS nonfinite_step
    FROM step_stats
    JOIN shown_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND kind <> 'profiled'
),
final AS (
    SELECT
        case_name, workers, placement, repeat,
        max(step) AS step,
        (max(step) + 1) * any_value(examples_per_step) / any_value(dataset_size) AS epoch,
        max(end_ns) / 1e9 AS time_s,
        avg(loss) AS loss,
        any_value(of_all) AS of_all
    FROM training
    WHERE nonfinite_step IS NULL OR step <= nonfinite_step
    GROUP BY
        case_name, workers, placement, repeat, step IS NOT DISTINCT FROM nonfinite_step,
        if(steps <= 150, step, step * 100 // steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
