-- One row per session, case and placement with a throughput: how much of the hardware training used. FLOP/s = FLOPs of
-- a step × throughput ÷ examples of a step; intervals are those of throughput. MFU is the share of the device's dense
-- peak for the precision; matmul_share is the share of the largest rate that `matmul` achieved on a device of the same
-- name, with the same precision and (on a CPU) threads, in any session of this database. A share over 1 shows an error
-- in one of its parts; it is null, and the problem column explains it. Products in float8 have other peaks: their
-- shares are null.
CREATE OR REPLACE VIEW utilisation AS
WITH points AS MATERIALIZED (
    SELECT
        *,
        exp(mean_half_width(repeats, log_variance, is_stopped_early := stops_early)) AS widening
    FROM placements
    WHERE repeats > 0
),
uses AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(devices) AS devices,
        any_value(flops_per_step) AS flops_per_step,
        any_value(flops_note) AS flops_note,
        avg(gpu_busy_share) AS gpu_busy_share,
        avg(sm_clock_mhz) AS sm_clock_mhz
    FROM hardware_use
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
peaks AS (
    SELECT device_name, points.precision, any_value(device_peaks.peak_flops_per_s) AS peak_flops_per_s
    FROM points
    JOIN device_peaks
        ON device_peaks.precision = points.precision AND regexp_full_match(device_name, device_pattern)
    WHERE device_type = 'cuda'
    GROUP BY device_name, points.precision
),
matmuls_here AS (
    SELECT
        device_type, device_name, precision, threads_of_a_cpu,
        max(flops_per_s) AS matmul_flops_per_s,
        arg_max(session_id, flops_per_s) AS matmul_session_id
    FROM matmul_rates
    GROUP BY ALL
),
in_float8 AS (
    SELECT DISTINCT session_id, case_name, true AS is_float8
    FROM runs
    WHERE config ->> '$.train.float8' = 'true'
),
rates AS (
    SELECT
        points.*,
        uses.* EXCLUDE (session_id, case_name, nodes, ranks_per_node, threads),
        if(is_float8, NULL, peaks.peak_flops_per_s) AS peak_flops_per_s,
        if(is_float8, NULL, matmuls_here.matmul_flops_per_s) AS matmul_flops_per_s,
        if(is_float8, NULL, matmuls_here.matmul_session_id) AS matmul_session_id,
        flops_per_step * throughput / examples_per_step AS flops_per_s,
        flops_per_s / devices AS flops_per_s_per_device,
        flops_per_s_per_device / if(is_float8, NULL, peaks.peak_flops_per_s) AS peak_share,
        flops_per_s_per_device / if(is_float8, NULL, matmuls_here.matmul_flops_per_s) AS share_of_matmul
    FROM points
    JOIN uses USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN in_float8 USING (session_id, case_name)
    LEFT JOIN peaks USING (device_name, precision)
    LEFT JOIN matmuls_here
        ON matmuls_here.device_type = points.device_type AND matmuls_here.device_name = points.device_name
        AND matmuls_here.precision = points.precision
        AND (threads_of_a_cpu IS NULL OR threads_of_a_cpu = points.threads)
),
final AS (
    SELECT
        session_id, suite, case_name, workload, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, oversubscribed, device_type, device_name, precision, repeats,
        devices, flops_per_step, flops_note,
        flops_per_s,                   -- sum over all ranks
        flops_per_s / widening AS flops_per_s_lo,
        flops_per_s * widening AS flops_per_s_hi,
        flops_per_s_per_device,        -- per GPU; on CPUs per rank
        peak_flops_per_s,              -- per device, dense, as its vendor gives it; null: unknown, as for every CPU
        -- mfu: model FLOP/s utilisation, a fraction: flops_per_s_per_device ÷ peak_flops_per_s
        CASE WHEN peak_share <= 1 THEN peak_share END AS mfu,
        mfu / widening AS mfu_lo,
        mfu * widening AS mfu_hi,
        -- mfu_problem: why MFU is null although both of its parts are known
        CASE WHEN peak_share > 1 THEN
            format(
                '{:.1f} TFLOP/s are {:.2f} times the peak of {}',
                flops_per_s_per_device / 1e12, peak_share, device_name
            )
        END AS mfu_problem,
        matmul_flops_per_s,            -- largest rate that matmul achieved on such a device
        matmul_session_id,             -- session with that rate
        CASE WHEN share_of_matmul <= 1 THEN share_of_matmul END AS matmul_share,  -- a fraction
        -- matmul_problem: why matmul_share is null although both of its parts are known
        CASE WHEN share_of_matmul > 1 THEN
            format('{:.2f} times what matmul achieved: it had a slower machine, or shapes too small', share_of_matmul)
        END AS matmul_problem,
        gpu_busy_share, sm_clock_mhz
    FROM rates
)
SELECT * FROM final;
