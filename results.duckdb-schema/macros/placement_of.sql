-- The way a placement is written: `2x4` is 2 nodes with 4 ranks each; where threads are the axis, `1x1 t8`.
CREATE OR REPLACE MACRO placement_of(nodes, ranks_per_node, axis, threads) AS (
    nodes || 'x' || ranks_per_node || CASE WHEN axis = 'threads' THEN ' t' || threads ELSE '' END
);
