-- One row per fact that must be equal for runs to be compared, and value, where runs on one kind of device differ in it.
WITH last_attempts AS (
    SELECT run_id, device_type, fingerprint
    FROM runs
    WHERE session_id = $session_id
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY attempt DESC) = 1
),
facts AS (
    SELECT run_id, device_type, fingerprint, unnest(json_keys(fingerprint)) AS key
    FROM last_attempts
),
counted AS (
    SELECT device_type, key, fingerprint ->> key AS value, count(*) AS runs, min(run_id) AS first_run
    FROM facts
    GROUP BY device_type, key, value
),
final AS (
    SELECT * FROM counted
    QUALIFY count(*) OVER (PARTITION BY device_type, key) > 1
)
SELECT * FROM final
ORDER BY device_type, key, first_run;
