-- title: One node is slower than the others
-- severity: warning
-- meaning: Every rank of that node keeps the others waiting in every step, so the whole allocation runs at the speed of
--   one node.
--
-- Fires if `stragglers` calls every rank of a node a straggler and there are other nodes. In a command the
-- finding is only likely, because its other ranks may be late for reasons that are not recorded.
WITH hosts AS (
    SELECT session_id, node, value AS hostname FROM environment WHERE key = 'hostname'
),
slow AS (
    SELECT *
    FROM stragglers
    WHERE is_slow_node
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY node_excess_ms DESC, node, rank
    ) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(strategy = 'command', 'likely', 'shown') AS certainty,
    node_cost AS cost,
    format(
        'all {} ranks of node {}{} take longer than the median rank before they first wait, by {} ms on average; the '
        'others wait for them for {}{} of a step', ranks_per_node, node, coalesce(format(' ({})', hostname), ''),
        number_text(node_excess_ms), if(strategy = 'command', 'at most ', if(is_estimated, 'about ', '')),
        percent_text(node_cost)
    ) AS evidence,
    format(
        'Exclude {} (sbatch and srun take --exclude) and measure again; tell the administrators.',
        coalesce(hostname, 'that node')
    ) AS advice,
    'Check its clocks, its temperature, its other users and its path to the data.' AS alternatives
FROM slow
LEFT JOIN hosts USING (session_id, node)
