-- One row per attempt, kind of device and time bin (up to 40 per attempt): the sensor readings of the devices of all
-- nodes; null if no sensor read it. The bins of an attempt are equally long; a device that was read rarely has fewer
-- bins.
WITH ends AS (
    SELECT session_id, run_id, attempt, min(time_ns) AS first_ns, max(time_ns) AS last_ns
    FROM samples
    GROUP BY session_id, run_id, attempt
),
readings AS (
    SELECT
        samples.*,
        CASE WHEN device IS NULL THEN 'host' ELSE 'GPU' END AS kind,
        CASE WHEN device IS NULL THEN cpu_busy_share ELSE gpu_busy_share END AS busy_share,
        -- Cast to a type that cannot overflow: a damaged file must not end the load.
        floor(40 * ((time_ns::DOUBLE - first_ns) / (last_ns::DOUBLE - first_ns + 1))) AS bin,
        energy_j - lag(energy_j) OVER in_time AS energy_j_since,
        -- of the same readings: null if the counter is missing, or began again
        CASE WHEN energy_j_since >= 0 THEN (time_ns::DOUBLE - lag(time_ns) OVER in_time) / 1e9 END AS counted_s
    FROM samples
    JOIN ends USING (session_id, run_id, attempt)
    WINDOW in_time AS (PARTITION BY session_id, run_id, attempt, node, device ORDER BY time_ns)
),
final AS (
    SELECT
        session_id, run_id, attempt, kind,
        min(time_ns) / 1e9 AS time_s,  -- time of the first reading of the bin, since the ranks' common barrier
        -- power_w: per device, mean over devices: increase of the energy counters ÷ time, since a GPU's reading of its
        -- power is a mean over up to a second or a moment; the mean of these readings if the counters do not rise
        coalesce(
            nullif(sum(energy_j_since) FILTER (counted_s > 0), 0) / sum(counted_s), avg(power_w)
        ) AS power_w,
        max(temperature_c) AS temperature_c,  -- hottest device
        min(sm_clock_mhz) AS clock_mhz,  -- slowest device
        avg(busy_share) AS utilisation
        -- kind: host, GPU
        -- utilisation: fraction, mean over devices; host: CPUs in use, GPU: time with a kernel running
    FROM readings
    GROUP BY session_id, run_id, attempt, kind, bin
)
SELECT * FROM final;
