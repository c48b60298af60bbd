-- title: One node is slower than the others
-- severity: warning
-- meaning: Every rank of that node keeps the others waiting in every step: the whole allocation runs at the speed of
--   one node.
--
-- Fires where `stragglers` calls every rank of a node a straggler, and there are other nodes.
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
    'shown' AS certainty,
    node_excess_ms / excess_ms * excess_of_step AS cost,
    format(
        'all {} ranks of node {}{} take longer than the median rank before they first wait, by {} ms on average, {} of '
        'a step', ranks_per_node, node, coalesce(format(' ({})', hostname), ''), number_text(node_excess_ms),
        percent_text(cost)
    ) AS evidence,
    format(
        'Leave {} out (sbatch and srun take --exclude) and measure again; tell its staff. Its clocks, its temperature, '
        'its other users and its way to the data are where to look.', coalesce(hostname, 'that node')
    ) AS advice
FROM slow
LEFT JOIN hosts USING (session_id, node)
