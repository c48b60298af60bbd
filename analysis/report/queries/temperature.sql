-- One row per case, placement, kind of device and bin of time: temperature of the hottest device of all nodes.
-- The first ok repeat of each placement; up to 40 bins of time. With more than 12 cases: the 12 hottest.
WITH readings AS (
    SELECT case_name, workers, placement, kind, time_s, temperature_c
    FROM sensors
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND temperature_c IS NOT NULL
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY max(temperature_c) DESC, case_name) AS place
    FROM readings
    GROUP BY case_name
),
final AS (
    SELECT readings.*, panel_count FROM readings JOIN ranked USING (case_name) WHERE place <= 12
)
SELECT * FROM final ORDER BY case_name, workers, placement, kind, time_s;
