-- One row per collective operation, placement and message size with an ok repeat: time and bandwidths with their 95 %
-- intervals. A single rank exchanges nothing and is left out. An operation of several cases is named with its case.
WITH exchanged AS (
    SELECT * FROM collective_bandwidth
    WHERE session_id = $session_id AND world_size > 1
)
SELECT
    op,
    case_name,
    if(count(DISTINCT case_name) OVER (PARTITION BY op) > 1, case_name || ' ', '') || placement AS placement,
    world_size AS workers,
    nodes,
    device_name,
    oversubscribed,
    repeats,
    message_bytes,
    bus_gbps,
    bus_gbps_lo,
    bus_gbps_hi,
    algorithm_gbps
FROM exchanged
ORDER BY op, workers, nodes, placement, message_bytes;
