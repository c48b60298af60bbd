-- One row per session, case that scales and segment: the law of its throughput over n, without its curve, which is in
-- scaling_prediction. law_fits says what a law is.
WITH final AS (
    SELECT session_id, suite, law_fits.* EXCLUDE (session_id, curve)
    FROM law_fits
    JOIN sessions USING (session_id)
)
SELECT * FROM final;
