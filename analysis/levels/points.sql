-- One row per case, placement and session that is judged, in families of two sessions or more: the columns of Point.
WITH ordered AS (
    SELECT session_id, row_number() OVER (PARTITION BY suite ORDER BY created_at, session_id) AS session_order
    FROM sessions
),
points AS (
    SELECT
        *, concat_ws(' ', line_facts[1:4]::VARCHAR, device_name) AS family,
        concat_ws(' ', line_facts::VARCHAR, experiment_facts::VARCHAR) AS series
    FROM history_points
    JOIN ordered USING (session_id)
    WHERE median_log IS NOT NULL AND NOT oversubscribed AND odd_runs = 0
    QUALIFY count(DISTINCT session_id) OVER (PARTITION BY family) > 1
)
SELECT
    family, series, session_order, session_id, suite, device_name, case_name, nodes, ranks_per_node, threads,
    median_log, median_log_variance
FROM points
ORDER BY family, session_order, series;
