-- One row per case, placement, kind of device and bin of time: mean utilisation over the devices of all nodes. Host:
-- the busy share of its processors, including other programs; GPU: the share of time in which any kernel ran. The
-- first ok repeat of each placement; up to 40 bins of time. With more than 12 cases: the 12 least busy.
WITH readings AS (
    SELECT case_name, workers, placement, kind, time_s, utilisation
    FROM sensors
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND utilisation IS NOT NULL
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY avg(utilisation), case_name) AS place
    FROM readings
    GROUP BY case_name
),
final AS (
    SELECT readings.*, panel_count FROM readings JOIN ranked USING (case_name) WHERE place <= 12
)
SELECT * FROM final ORDER BY case_name, workers, placement, kind, time_s;
