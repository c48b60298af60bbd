-- One row per session, case, placement and precision: the largest FLOP/s over all shapes of a multiplication.
WITH multiplied AS (
    SELECT * FROM matmul_throughput
    WHERE flops_per_s IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads, precision
        ORDER BY flops_per_s DESC, m, n, k
    ) = 1
),
final AS (
    SELECT
        session_id, case_name, device_type, device_name, nodes, ranks_per_node, threads, placement, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        oversubscribed, precision, repeats,
        m, n, k,                               -- shape m, n, k of the fastest multiplication
        flops_per_s AS peak_flops_per_s,       -- per rank
        flops_per_s_lo AS peak_flops_per_s_lo,
        flops_per_s_hi AS peak_flops_per_s_hi
    FROM multiplied
)
SELECT * FROM final;
