-- title: GPU at its power limit
-- severity: notice
-- meaning: The GPU would clock higher if it were allowed more power. This is normal for large multiplications and not
--   a fault. But other GPUs of the same kind with a different limit, or another node, give different times.
--
-- Fires if NVML reported SwPowerCap (nvml.h, nvmlClocksEventReasons) in at least half of the readings during measured
-- steps, and in at least 5 readings, over the GPUs that the ranks use.
WITH limits AS (
    SELECT session_id, min(TRY_CAST(value AS DOUBLE)) AS limit_w, max(TRY_CAST(value AS DOUBLE)) AS highest_w
    FROM environment
    WHERE regexp_full_match(key, 'gpu[0-9]+_power_limit_w')
    GROUP BY session_id
),
places AS (
    SELECT
        session_id, case_name, run_summary.nodes, ranks_per_node, threads,
        sum(throttle_readings) AS readings,
        sum(power_cap_share * throttle_readings) / sum(throttle_readings) AS capped,
        avg(run_device_stats.sm_clock_mhz) AS clock_mhz
    FROM run_device_stats
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND throttle_readings > 0 AND ranks > 0
    GROUP BY ALL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format(
        'the GPUs were at their power limit{} in {} of {} readings{}',
        CASE
            WHEN limit_w < highest_w THEN format(' of {:,.0f} to {:,.0f} W', limit_w, highest_w)
            WHEN limit_w IS NOT NULL THEN format(' of {:,.0f} W', limit_w)
            ELSE ''
        END,
        percent_text(capped), readings,
        coalesce(format(', at {:,.0f} MHz on average', clock_mhz), '')
    ) AS evidence,
    'Compare only with runs under the same limit, and report it with the results.' AS advice,
    'Lower precision for the same arithmetic (train.precision=bf16) achieves more within the limit.' AS alternatives
FROM places
LEFT JOIN limits USING (session_id)
WHERE capped >= 0.5 AND capped * readings >= 4.5
