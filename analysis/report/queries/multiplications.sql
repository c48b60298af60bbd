-- One row per case, placement and precision: the largest FLOP/s of a rank.
SELECT
    case_name, placement, threads, world_size, device_name, oversubscribed, precision, repeats, m, n, k,
    peak_flops_per_s, peak_flops_per_s_lo, peak_flops_per_s_hi
FROM matmul_peaks
WHERE session_id = $session_id
ORDER BY case_name, world_size, nodes, threads, precision;
