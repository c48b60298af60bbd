-- One row per case, placement and bin of steps: mean training loss over ranks and the steps of the bin; and one row
-- per validation. The first ok repeat of each placement, so that all placements have the same seed where all
-- repeats succeeded; warm-up steps included, they train too; every step up to 150, else 100 bins of neighbouring steps.
WITH first_runs AS (
    SELECT *, nodes || 'x' || ranks_per_node || if(axis = 'threads', ' t' || threads, '') AS placement
    FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
training AS (
    SELECT *, count(*) OVER (PARTITION BY run_id, attempt) AS steps
    FROM step_stats
    WHERE session_id = $session_id AND kind <> 'profiled'
),
final AS (
    SELECT
        case_name, workers, placement, repeat,
        'training' AS kind,
        min(step) AS step,
        avg(training.loss) AS loss
    FROM training
    JOIN first_runs USING (session_id, run_id, attempt)
    GROUP BY case_name, workers, placement, repeat, if(steps <= 150, step, step * 100 // steps)
    UNION ALL BY NAME
    SELECT case_name, workers, placement, repeat, 'validation' AS kind, evals.step, evals.val_loss AS loss
    FROM evals
    JOIN first_runs USING (session_id, run_id, attempt)
)
SELECT * FROM final WHERE loss IS NOT NULL ORDER BY case_name, workers, placement, kind, step;
