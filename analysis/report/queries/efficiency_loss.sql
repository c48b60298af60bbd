-- One row per case, placement and part of the ranks' time: the used part, which is the efficiency, and each known term
-- of efficiency_loss. The parts add up to 1; a part below 0 is a gain. Sizes without a known term are left out.
WITH losses AS (
    SELECT *
    FROM efficiency_loss
    WHERE session_id = $session_id
    QUALIFY bool_or(term <> 'remainder' AND share IS NOT NULL) OVER (
        PARTITION BY case_name, nodes, ranks_per_node, threads
    )
),
parts AS (
    SELECT
        case_name, placement, workers, nodes, threads, known_by,
        0 AS part_order,
        'used' AS part,
        any_value(efficiency) AS share,
        NULL AS share_lo,
        NULL AS share_hi,
        1 - any_value(efficiency) AS lost,
        NULL AS lost_ms
    FROM losses
    GROUP BY case_name, placement, workers, nodes, threads, known_by
    UNION ALL
    SELECT
        case_name, placement, workers, nodes, threads, known_by,
        term_order, loss_name(term), share, share_lo, share_hi, NULL, lost_ms
    FROM losses
    WHERE share IS NOT NULL
)
SELECT
    case_name || ' ' || placement AS label,
    case_name, placement, workers, part, part_order, share, share_lo, share_hi, lost, lost_ms, known_by
FROM parts
ORDER BY case_name, workers, nodes, threads, part_order;
