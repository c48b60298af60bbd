-- One row per fact that must be equal for sessions to be compared, with the session's values.
WITH last_runs AS (
    SELECT * FROM runs
    WHERE session_id = $session_id AND probe IS NOT TRUE AND status <> 'skipped'
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY attempt DESC) = 1
),
facts AS (
    -- transports depend on the placement, settings on the case
    SELECT
        CASE key
            WHEN 'transport' THEN 'transport at ' || placement
            WHEN 'settings' THEN 'settings of ' || case_name || ' at ' || placement
            ELSE key
        END AS key,
        value
    FROM fingerprint
    -- threads are a setting of each case
    WHERE session_id = $session_id AND class = 'must_equal' AND key <> 'threads'
    UNION ALL
    SELECT 'device', device_name FROM last_runs
),
final AS (
    SELECT key, string_agg(DISTINCT value, ', ' ORDER BY value) AS value
    FROM facts
    WHERE value IS NOT NULL
    GROUP BY key
)
SELECT * FROM final ORDER BY key;
