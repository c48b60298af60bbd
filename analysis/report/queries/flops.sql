-- One row per case and placement with FLOP/s: those of one device, with the 95 % interval of throughput; if known, the
-- device's dense peak and the rate that the suite matmul reached on such a device.
SELECT
    case_name, placement, case_name || ' ' || placement AS label, workers, device_name, precision, oversubscribed,
    repeats,
    flops_per_s_per_device AS flops_per_s,
    flops_per_s_lo / devices AS flops_per_s_lo,
    flops_per_s_hi / devices AS flops_per_s_hi,
    mfu, matmul_share,
    unnest([matmul_flops_per_s, peak_flops_per_s]) AS reference,
    unnest(['achieved by matmul', 'peak']) AS reference_name
FROM utilisation
WHERE session_id = $session_id AND flops_per_s_per_device IS NOT NULL
ORDER BY case_name, workers, nodes, threads, reference_name;
