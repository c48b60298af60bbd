-- One row per validation of first_runs that has the quantity, `val_loss` or `val_accuracy`: its value, up to 60 of a
-- run, the last always among them. `place` ranks the `of_all` cases of the session that have it by the last value at
-- their largest size, from the lowest. A value that is not finite counts there as the highest, and is null.
CREATE OR REPLACE MACRO validation_curves(quantity) AS TABLE
WITH measured AS (
    SELECT
        session_id, case_name, workers, placement, repeat, step, epoch, time_s,
        quantity AS value,
        arg_max(quantity, (workers, step)) OVER (PARTITION BY session_id, case_name) AS last_value,
        count(*) OVER of_run AS validations,
        row_number() OVER (of_run ORDER BY step DESC) - 1 AS from_last
    FROM validations
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE quantity IS NOT NULL AND step IS NOT NULL  -- an import knows its best value alone
    WINDOW of_run AS (PARTITION BY session_id, run_id, attempt)
),
ranked AS (
    SELECT *, dense_rank() OVER (PARTITION BY session_id ORDER BY last_value, case_name) AS place
    FROM measured
    WHERE from_last % ceil(validations / 60) = 0
),
final AS (
    SELECT
        session_id, case_name, workers, placement, repeat, step, epoch, time_s,
        if(isfinite(value), value, NULL) AS value,  -- of the quantity; null where it is NaN or infinite
        place,  -- of the case, by its last value at its largest size, the smallest first
        max(place) OVER (PARTITION BY session_id) AS of_all  -- cases of the session that have the quantity
    FROM ranked
)
SELECT * FROM final;
