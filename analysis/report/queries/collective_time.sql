-- One row per collective operation, placement and message size with an ok repeat: its time with the 95 % interval. A
-- single rank exchanges nothing and is left out. An operation of several cases is named with its case.
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
    time_us,
    time_us_lo,
    time_us_hi
FROM exchanged
ORDER BY op, workers, nodes, placement, message_bytes;
