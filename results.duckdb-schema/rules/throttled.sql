-- title: GPU slowed down by heat or hardware protection
-- severity: warning
-- meaning: The GPU had to lower its clock, because it was too hot or because the machine's power supply required it.
--   All ranks wait for the slowest one, so one hot GPU slows all of them. The next hour may be different.
--
-- Fires if NVML reported such a reason in at least 5 % of the readings during measured steps, and in at least 5
-- readings, on the worst GPU: SwThermalSlowdown, HwThermalSlowdown, HwSlowdown or HwPowerBrakeSlowdown (nvml.h,
-- nvmlClocksEventReasons). An idle GPU and a clock that someone set do not count; the power limit has its own rule,
-- power_capped.
WITH devices AS (
    SELECT
        session_id, case_name, run_summary.nodes, ranks_per_node, threads, node, device,
        sum(throttle_readings) AS readings,
        sum(heat_share * throttle_readings) / sum(throttle_readings) AS hot,
        sum(hardware_slowdown_share * throttle_readings) / sum(throttle_readings) AS held,
        avg(run_device_stats.sm_clock_mhz) AS clock_mhz,
        max(temperature_c) AS hottest_c
    FROM run_device_stats
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND throttle_readings > 0 AND ranks > 0
    GROUP BY ALL
),
worst AS (
    SELECT * FROM devices
    WHERE hot + held >= 0.05 AND (hot + held) * readings >= 4.5
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY hot + held DESC, node, device
    ) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    hot + held AS magnitude,
    format(
        'GPU {} of node {} was slowed down {} in {} of {} readings{}{}', device, node,
        if(hot >= held, 'by heat', 'by hardware protection (no heat was reported)'), percent_text(hot + held), readings,
        coalesce(format(', at {:.0f} °C at most', hottest_c), ''),
        coalesce(format(' and a clock of {:,.0f} MHz', clock_mhz), '')
    ) AS evidence,
    if(
        hot >= held,
        'Use another node, and tell the administrators: the cooling of this GPU does not keep up.',
        'Use another node, and tell the administrators: cables, power supply or the GPU itself slow it down.'
    ) AS advice,
    if(
        hot >= held, 'If there is no other node, a lower power limit gives steadier times.', NULL
    ) AS alternatives
FROM worst
