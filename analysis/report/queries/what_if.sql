-- One row per case, placement and factor of measure.wire, and one for the network as it is. Beyond 8 cases: the 8 whose
-- step another network speeds up most.
WITH ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY max(speedup) DESC, case_name) AS place
    FROM what_if
    WHERE session_id = $session_id
    GROUP BY case_name
),
networks AS (
    SELECT
        case_name, panel_count, placement, workers, nodes, threads, point_id, message_factor, bandwidth, is_bound, interval_over,
        repeats, rounds, speedup, speedup_lo, speedup_hi
    FROM what_if
    JOIN ranked USING (case_name)
    WHERE session_id = $session_id AND place <= 8
),
as_it_is AS (
    SELECT DISTINCT ON (point_id)
        case_name, panel_count, placement, workers, nodes, threads, point_id, 1.0 AS message_factor, 1.0 AS bandwidth,
        false AS is_bound, interval_over, repeats, rounds, 1.0 AS speedup
    FROM networks
)
SELECT
    *,
    case_name || ' ' || placement AS label,
    CASE WHEN message_factor = 0 THEN 'none' ELSE format('{:g} times the bytes', message_factor) END AS bytes
FROM (
    FROM networks
    UNION ALL BY NAME
    FROM as_it_is
)
ORDER BY case_name, workers, nodes, threads, message_factor;
