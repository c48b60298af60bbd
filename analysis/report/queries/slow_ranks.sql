-- One row per case, placement and node whose ranks are all stragglers, or straggling rank on another node.
WITH hosts AS (
    SELECT node, any_value(value) AS host FROM environment
    WHERE session_id = $session_id AND key = 'hostname'
    GROUP BY node
),
judged AS (
    SELECT * FROM stragglers WHERE session_id = $session_id AND is_straggler
),
slow_nodes AS (
    SELECT
        case_name, workers, nodes, threads, placement, node,
        NULL::INTEGER AS rank,
        count(*) AS ranks,
        any_value(repeats) AS repeats,
        avg(before_wait_ms) AS before_wait_ms,
        any_value(node_excess_ms) AS excess_ms,
        NULL::DOUBLE AS excess_ms_lo,
        NULL::DOUBLE AS excess_ms_hi,
        avg(excess_of_step) AS excess_of_step,
        sum(times_slowest_share) AS times_slowest_share,
        sum(expected_share) AS expected_share
    FROM judged
    WHERE is_slow_node
    GROUP BY case_name, workers, nodes, threads, placement, node
),
slow_ranks AS (
    SELECT
        case_name, workers, nodes, threads, placement, node, rank,
        1 AS ranks,
        repeats, before_wait_ms, excess_ms, excess_ms_lo, excess_ms_hi, excess_of_step, times_slowest_share, expected_share
    FROM judged
    WHERE is_slow_node IS NOT TRUE
)
SELECT *
FROM (FROM slow_nodes UNION ALL BY NAME FROM slow_ranks) AS found
LEFT JOIN hosts USING (node)
ORDER BY case_name, workers, nodes, threads, excess_ms DESC, rank;
