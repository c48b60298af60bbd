-- One row per validation in first_runs that has the quantity (`val_loss` or `val_accuracy`): its value, up to 60 per
-- run, always including the last. `place` ranks the `case_count` cases of the session that have the quantity, by the
-- last value at their largest size, lowest first. A value that is not finite is null and ranks highest.
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
    WHERE quantity IS NOT NULL AND step IS NOT NULL  -- an import has only its best value
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
        if(isfinite(value), value, NULL) AS value,  -- of the quantity; null if NaN or infinite
        place,  -- rank of the case by its last value at its largest size, smallest first
        max(place) OVER (PARTITION BY session_id) AS case_count  -- number of cases that have the quantity
    FROM ranked
)
SELECT * FROM final;
