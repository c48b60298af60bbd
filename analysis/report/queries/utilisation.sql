-- One row per case, placement, kind of device and bin of time: mean utilisation over the devices of all nodes. Of the
-- host: its processors' busy share, other programs included; of a GPU: the share of time in which any kernel ran.
-- The first ok repeat of each placement; up to 40 bins of time.
WITH first_runs AS (
    SELECT *, nodes || 'x' || ranks_per_node || if(axis = 'threads', ' t' || threads, '') AS placement
    FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
readings AS (
    SELECT
        session_id, run_id, attempt, time_ns,
        if(device IS NULL, 'host', 'GPU') AS kind,
        if(device IS NULL, cpu_util_pct, gpu_util_pct) AS util_pct,
        40 * (time_ns - min(time_ns) OVER of_run)
            // (max(time_ns) OVER of_run - min(time_ns) OVER of_run + 1) AS bin
    FROM samples
    WHERE session_id = $session_id
    WINDOW of_run AS (PARTITION BY run_id, attempt)
),
final AS (
    SELECT
        case_name,
        workers,
        placement,
        kind,
        min(time_ns) / 1e9 AS time_s,
        avg(util_pct) / 100 AS utilisation
    FROM readings
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE util_pct IS NOT NULL
    GROUP BY case_name, workers, placement, kind, bin
)
SELECT * FROM final ORDER BY case_name, workers, placement, kind, time_s;
