-- One row: how many placements with several ranks were examined for stragglers, and how many could be judged.
WITH placements_looked_at AS (
    SELECT
        any_value(world_size) AS ranks,
        bool_or(is_straggler IS NOT NULL) AS is_judged,
        bool_or(is_straggler) AS has_straggler
    FROM stragglers
    WHERE session_id = $session_id AND excess_ms IS NOT NULL
    GROUP BY case_name, nodes, ranks_per_node, threads
)
SELECT
    count(*) AS placements,
    count(*) FILTER (is_judged) AS judged,
    count(*) FILTER (has_straggler) AS with_stragglers,
    coalesce(sum(ranks) FILTER (is_judged), 0)::BIGINT AS ranks
FROM placements_looked_at;
