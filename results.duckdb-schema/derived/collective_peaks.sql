-- One row per session, case, placement and collective operation: its latency, and its largest bus bandwidth over all
-- message sizes. Single ranks have no row, because they exchange nothing.
WITH exchanged AS (
    SELECT * FROM collective_bandwidth
    WHERE world_size > 1 AND bus_gbps IS NOT NULL
),
final AS (
    SELECT
        session_id, case_name, device_type, device_name, nodes, ranks_per_node, threads, placement, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        oversubscribed, op,
        max(repeats) AS repeats,
        min(message_bytes) AS smallest_message_bytes,  -- smallest message that was timed
        -- smallest_time_us: time of one operation on the smallest message: its latency
        arg_min(time_us, message_bytes) AS smallest_time_us,
        arg_min_null(time_us_lo, message_bytes) AS smallest_time_us_lo,
        arg_min_null(time_us_hi, message_bytes) AS smallest_time_us_hi,
        arg_max(message_bytes, bus_gbps) AS peak_message_bytes,  -- message size with the largest bus bandwidth
        max(bus_gbps) AS peak_bus_gbps,  -- largest bus bandwidth over all message sizes, 10^9 bytes per second
        arg_max_null(bus_gbps_lo, bus_gbps) AS peak_bus_gbps_lo,
        arg_max_null(bus_gbps_hi, bus_gbps) AS peak_bus_gbps_hi
    FROM exchanged
    GROUP BY
        session_id, case_name, device_type, device_name, nodes, ranks_per_node, threads, placement, world_size,
        oversubscribed, op
)
SELECT * FROM final;
