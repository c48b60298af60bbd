-- One row per case and placement: quantiles of the time of a step over all measured steps of its ok repeats.
-- A step's time is E(s) - E(s-1), E = the latest end over ranks. Quantiles are values that were measured.
WITH ok_runs AS (
    SELECT *, nodes || 'x' || ranks_per_node || if(axis = 'threads', ' t' || threads, '') AS placement
    FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
),
measured AS (
    SELECT * FROM step_stats WHERE session_id = $session_id AND kind = 'measured'
),
final AS (
    SELECT
        case_name || ' ' || placement AS label,
        case_name,
        workers,
        placement,
        count(*) AS steps,
        count(DISTINCT run_id) AS repeats,
        min(step_ns) / 1e6 AS min_ms,
        quantile_disc(step_ns, 0.05) / 1e6 AS p5_ms,
        quantile_disc(step_ns, 0.25) / 1e6 AS p25_ms,
        quantile_disc(step_ns, 0.50) / 1e6 AS median_ms,
        quantile_disc(step_ns, 0.75) / 1e6 AS p75_ms,
        quantile_disc(step_ns, 0.95) / 1e6 AS p95_ms,
        max(step_ns) / 1e6 AS max_ms
    FROM measured
    JOIN ok_runs USING (session_id, run_id, attempt)
    GROUP BY case_name, workers, placement
)
SELECT * FROM final ORDER BY case_name, workers, placement;
