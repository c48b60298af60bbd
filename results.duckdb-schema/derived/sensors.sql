-- Bins are of equal length within an attempt; a device that was read seldom has fewer.
WITH ends AS (
    SELECT session_id, run_id, attempt, min(time_ns) AS first_ns, max(time_ns) AS last_ns
    FROM incoming_samples
    GROUP BY session_id, run_id, attempt
),
readings AS (
    SELECT
        incoming_samples.*,
        CASE WHEN device IS NULL THEN 'host' ELSE 'GPU' END AS kind,
        CASE WHEN device IS NULL THEN cpu_util_pct ELSE gpu_util_pct END AS util_pct,
        -- As numbers that cannot overflow: a damaged file must not end the load.
        floor(40 * ((time_ns::DOUBLE - first_ns) / (last_ns::DOUBLE - first_ns + 1))) AS bin
    FROM incoming_samples
    JOIN ends USING (session_id, run_id, attempt)
),
final AS (
    SELECT
        session_id, run_id, attempt, kind,
        min(time_ns) / 1e9 AS time_s,
        avg(power_w) AS power_w,
        max(temperature_c) AS temperature_c,
        min(sm_clock_mhz) AS clock_mhz,
        avg(util_pct) / 100 AS utilisation
    FROM readings
    GROUP BY session_id, run_id, attempt, kind, bin
)
SELECT * FROM final;
