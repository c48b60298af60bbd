-- One row per case, placement and rank: how much longer than the median rank it takes before it first waits for the
-- others, as a share of the mean step. Beyond 8 placements: those whose ranks differ most. Beyond 128 ranks: the 64
-- that take longest and the 64 that take shortest.
WITH points AS (
    SELECT case_name, nodes, ranks_per_node, threads, step_ms_mean FROM scaling WHERE session_id = $session_id
),
compared AS (
    SELECT *
    FROM stragglers
    JOIN points USING (case_name, nodes, ranks_per_node, threads)
    WHERE session_id = $session_id AND excess_ms IS NOT NULL
),
ranked AS (
    SELECT
        case_name, placement,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY max(excess_of_step) DESC, case_name, placement) AS place
    FROM compared
    GROUP BY case_name, placement
),
shown AS (
    SELECT
        *,
        row_number() OVER by_excess AS from_longest,
        count(*) OVER (PARTITION BY case_name, placement) AS ranks
    FROM compared
    JOIN ranked USING (case_name, placement)
    WHERE place <= 8
    WINDOW by_excess AS (PARTITION BY case_name, placement ORDER BY excess_ms DESC, rank)
    QUALIFY from_longest <= 64 OR from_longest > ranks - 64
)
SELECT
    case_name || ' ' || placement AS panel,
    case_name,
    workers,
    placement,
    'node ' || node AS node,
    if(node % 2 = 0, 'even nodes', 'odd nodes') AS alternation,
    rank,
    excess_of_step,
    excess_ms_lo / step_ms_mean AS excess_of_step_lo,
    excess_ms_hi / step_ms_mean AS excess_of_step_hi,
    excess_ms,
    times_slowest_share,
    if(is_straggler, 'straggler', 'as the others') AS judged,
    panel_count
FROM shown
ORDER BY case_name, workers, placement, rank;
