-- One row per case, placement and collective operation: latency and the largest bus bandwidth.
SELECT
    case_name, op, placement, world_size, nodes, device_name, oversubscribed, repeats,
    smallest_message_bytes, smallest_time_us, smallest_time_us_lo, smallest_time_us_hi,
    peak_message_bytes, peak_bus_gbps, peak_bus_gbps_lo, peak_bus_gbps_hi
FROM collective_peaks
WHERE session_id = $session_id
ORDER BY case_name, op, world_size, nodes, threads;
