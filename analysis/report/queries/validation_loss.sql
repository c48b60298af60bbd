-- One row per validation of the first ok repeat of each case and placement: loss, with the epoch it has
-- reached and the wall time at which its last step ended; up to 60 validations of a run. Beyond 8 cases: the 4 whose
-- last loss at their largest size is highest and the 4 lowest. A loss that is not finite is null.
SELECT case_name, workers, placement, repeat, step, epoch, time_s, value AS val_loss, case_count AS panel_count
FROM validation_curves(val_loss)
WHERE session_id = $session_id AND (case_count <= 8 OR place <= 4 OR place > case_count - 4)
ORDER BY case_name, workers, placement, step;
