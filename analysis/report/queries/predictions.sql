-- One row per case, size that was not run, and kind of prediction: the throughput and speedup there.
WITH rates AS (
    SELECT case_name, any_value(throughput_unit) AS throughput_unit
    FROM scaling
    WHERE session_id = $session_id
    GROUP BY case_name
)
SELECT
    case_name, axis, workers, law,
    speedup, speedup_lo, speedup_hi,
    efficiency, efficiency_lo, efficiency_hi,
    throughput, throughput_lo, throughput_hi, throughput_unit, left_out_error
FROM scaling_prediction
JOIN rates USING (case_name)
WHERE session_id = $session_id AND kind = 'predicted' AND speedup IS NOT NULL
ORDER BY case_name, workers, law DESC;
