-- One row per attempt, kind of device and bin of time, of which an attempt has up to 40: what the sensors read of the
-- devices of all nodes; null where no sensor read it.
CREATE OR REPLACE VIEW sensors AS
WITH readings AS (
    SELECT
        *,
        CASE WHEN device IS NULL THEN 'host' ELSE 'GPU' END AS kind,
        CASE WHEN device IS NULL THEN cpu_util_pct ELSE gpu_util_pct END AS util_pct,
        40 * (time_ns - min(time_ns) OVER of_run)
            // (max(time_ns) OVER of_run - min(time_ns) OVER of_run + 1) AS bin
    FROM samples
    WINDOW of_run AS (PARTITION BY session_id, run_id, attempt)
),
final AS (
    SELECT
        session_id, run_id, attempt,
        kind,  -- host, GPU
        min(time_ns) / 1e9 AS time_s,  -- since the ranks' common barrier, of the first reading of the bin
        avg(power_w) AS power_w,  -- of one device: mean over devices
        max(temperature_c) AS temperature_c,  -- of the hottest device
        min(sm_clock_mhz) AS clock_mhz,  -- of the slowest device
        -- utilisation: fraction, mean over devices; of a host its processors' busy share, of a GPU time with a kernel
        avg(util_pct) / 100 AS utilisation
    FROM readings
    GROUP BY session_id, run_id, attempt, kind, bin
)
SELECT * FROM final;
