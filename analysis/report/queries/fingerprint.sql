-- One row per key of the fingerprint and value, if runs on one kind of device differ in it.
WITH final AS (
    SELECT device_type, key, class, value, sum(runs) AS runs, min(first_run) AS first_run
    FROM fingerprint
    WHERE session_id = $session_id AND differs
    GROUP BY device_type, key, class, value
)
SELECT * FROM final
ORDER BY device_type, class, key, first_run;
