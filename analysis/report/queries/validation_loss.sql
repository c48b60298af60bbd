-- One row per validation of the first ok repeat of each case and placement: loss, with the epoch it has
-- reached and the wall time at which its last step ended; up to 60 validations of a run. Beyond 8 cases: the 4 whose
-- last loss at their largest size is highest and the 4 lowest. A loss that is not finite is null.
WITH first_runs AS (
    SELECT * FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
measured AS (
    SELECT
        case_name, workers, placement, repeat, step, epoch, time_s, val_loss,
        count(*) OVER of_run AS validations,
        row_number() OVER (of_run ORDER BY step DESC) - 1 AS from_last
    FROM validations
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND val_loss IS NOT NULL
    WINDOW of_run AS (PARTITION BY run_id, attempt)
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS of_all,
        row_number() OVER (ORDER BY last_value, case_name) AS place
    FROM (
        SELECT case_name, arg_max(val_loss, (workers, step)) AS last_value FROM measured GROUP BY case_name
    ) AS last_values
),
final AS (
    SELECT case_name, workers, placement, repeat, step, epoch, time_s,
        if(isfinite(val_loss), val_loss, NULL) AS val_loss, of_all
    FROM measured
    JOIN ranked USING (case_name)
    WHERE (of_all <= 8 OR place <= 4 OR place > of_all - 4) AND from_last % ceil(validations / 60) = 0
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
