-- One row per case, kind of prediction and n: the predicted speedup with its 95 % interval, and the measured one.
SELECT
    case_name,
    scaling_mode,
    axis,
    law,
    kind,
    workers,
    speedup,
    speedup_lo,
    speedup_hi,
    measured_speedup,
    relative_error,
    left_out_error,
    segment
FROM scaling_prediction
WHERE session_id = $session_id AND speedup IS NOT NULL
ORDER BY case_name, law, workers;
