-- One row per case and placement with known FLOP/s, energy or GPU-hours: how much of the hardware it used, and the
-- cost of a million examples.
SELECT
    utilisation.case_name, placement, precision, devices,
    flops_per_s_per_device, mfu, mfu_lo, mfu_hi, peak_flops_per_s, mfu_problem, flops_note,
    matmul_share, matmul_problem, matmul_session_id,
    power_w, j_per_million_examples, examples_per_j, examples_per_j_lo, examples_per_j_hi,
    gpu_hours_per_million_examples
FROM utilisation
LEFT JOIN energy USING (session_id, case_name, nodes, ranks_per_node, threads, placement, precision, devices)
WHERE session_id = $session_id
    AND coalesce(flops_per_s, j_per_million_examples, gpu_hours_per_million_examples) IS NOT NULL
ORDER BY utilisation.case_name, utilisation.workers, nodes, threads;
