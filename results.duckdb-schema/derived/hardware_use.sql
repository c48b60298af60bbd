-- One row per ok run (last attempt): FLOPs of a step, and what the GPUs of its ranks did during measured steps. Other
-- GPUs of their nodes are ignored.
WITH used_devices AS (
    SELECT
        session_id, run_id, attempt,
        count(*) AS devices_read,
        avg(gpu_busy_share) AS gpu_busy_share,
        avg(sm_clock_mhz) AS sm_clock_mhz,
        CASE WHEN count(energy_j) = count(*) THEN sum(energy_j) END AS energy_j
    FROM run_device_stats
    WHERE ranks > 0
    GROUP BY session_id, run_id, attempt
),
given_devices AS (
    SELECT session_id, run_id, attempt, count(DISTINCT (node, coalesce(gpu_uuid, device::VARCHAR))) AS devices
    FROM rank_places
    WHERE gpu_uuid IS NOT NULL OR device IS NOT NULL
    GROUP BY session_id, run_id, attempt
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads, examples_per_step, tokens_per_example,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        flops_per_step, flops_note,
        -- devices: GPUs of its ranks, fewer than ranks if they share GPUs; on CPUs the number of ranks; null: unknown
        coalesce(given_devices.devices, CASE WHEN device_type = 'cpu' OR NOT oversubscribed THEN world_size END)
            AS devices,
        measured_steps,
        span_ns / 1e9 AS span_s,       -- duration of the measured steps
        -- gpu_busy_share: share of time with a kernel running, mean over GPUs and readings; null on a CPU
        gpu_busy_share,
        sm_clock_mhz,                  -- mean over the same GPUs and readings
        -- energy_j: energy of these GPUs in measured steps, all together; null unless each of them has a counter
        CASE WHEN devices_read = given_devices.devices AND energy_j > 0 THEN energy_j END AS energy_j
    FROM last_attempts()
    JOIN run_stats USING (session_id, run_id, attempt)
    LEFT JOIN used_devices USING (session_id, run_id, attempt)
    LEFT JOIN given_devices USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND probe IS NOT TRUE AND measured_steps > 0
)
SELECT * FROM final;
