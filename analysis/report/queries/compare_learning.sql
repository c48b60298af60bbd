-- One row per session, case and bin of steps: mean training loss over ranks and the steps of the bin; and one row per
-- validation. For each case (its name, workload, scaling and strategy): the first ok repeat of the placement that most
-- sessions have, the largest if several do. Includes warm-up; every step up to 150, else 100 bins of neighbouring
-- steps. A run with a loss that is not finite ends at its first one, with a row whose loss is null and `nonfinite` is
-- true.
WITH chosen AS (
    SELECT case_name, workload, scaling_mode, strategy, placement
    FROM first_runs
    WHERE list_contains($session_ids, session_id)
    GROUP BY case_name, workload, scaling_mode, strategy, placement
    QUALIFY row_number() OVER (
        PARTITION BY case_name, workload, scaling_mode, strategy ORDER BY count(*) DESC, max(workers) DESC, placement
    ) = 1
),
shown AS (
    SELECT
        session_id, run_id, attempt, repeat, case_name, workload, scaling_mode, strategy, placement AS chosen,
        steps_completed AS steps, metric
    FROM first_runs
    JOIN chosen USING (case_name, workload, scaling_mode, strategy, placement)
    WHERE list_contains($session_ids, session_id)
),
final AS (
    SELECT
        session_id, case_name, workload, scaling_mode, strategy, chosen, repeat, min(step) AS step,
        avg(loss) AS loss, nonfinite,
        NULL::DOUBLE AS val_loss, NULL::DOUBLE AS val_accuracy, NULL::VARCHAR AS metric
    FROM training_steps
    JOIN shown USING (session_id, run_id, attempt)
    GROUP BY
        session_id, case_name, workload, scaling_mode, strategy, chosen, repeat, nonfinite,
        if(steps <= 150, step, step * 100 // steps)
    UNION ALL BY NAME
    SELECT session_id, case_name, workload, scaling_mode, strategy, chosen, repeat, step, val_loss, val_accuracy, metric
    FROM evals
    JOIN shown USING (session_id, run_id, attempt)
    WHERE step IS NOT NULL  -- an import knows only its best value
)
SELECT * FROM final
ORDER BY list_position($session_ids, session_id), case_name, workload, scaling_mode, strategy, step;
