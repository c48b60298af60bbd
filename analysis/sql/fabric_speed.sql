-- Lines of the newest named kind of device. fabric_lines has the newest session for each of its placements.
WITH lines AS (
    SELECT * FROM fabric_lines
    WHERE device_type = $device_type AND device_name IS NOT NULL
),
newest AS (
    SELECT device_name FROM lines
    ORDER BY created_at DESC
    LIMIT 1
),
final AS (
    SELECT
        op, locality = 'across_nodes' AS across_nodes, nodes, ranks_per_node,
        latency_s, step_latency_s, bus_bytes_per_s, relative_error, cpu_cores, after_computation,
        fabric_session_id, lines.device_name
    FROM lines
    JOIN newest USING (device_name)
)
SELECT * FROM final
ORDER BY ALL;
