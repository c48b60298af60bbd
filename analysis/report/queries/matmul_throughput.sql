-- One row per case, placement, precision and shape of a multiplication with an ok repeat: FLOP/s of one rank with the
-- 95 % interval. `size` is the cube root of m n k: n of square matrices.
WITH multiplied AS (
    SELECT * FROM matmul_throughput
    WHERE session_id = $session_id
),
final AS (
    SELECT
        case_name,
        if(count(DISTINCT case_name) OVER () > 1, case_name || ' ', '') || placement AS placement,
        world_size AS workers,
        device_type,
        device_name,
        threads,
        oversubscribed,
        precision,
        repeats,
        m,
        n,
        k,
        cbrt(m::DOUBLE * n * k) AS size,
        flops_per_s,
        flops_per_s_lo,
        flops_per_s_hi
    FROM multiplied
)
SELECT * FROM final ORDER BY case_name, workers, threads, precision, size, m, n;
