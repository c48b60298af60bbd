-- One row per case and placement: quantiles of the time of a step over all measured steps of its ok repeats.
-- A step's time is E(s) - E(s-1), E = the latest end over ranks. Quantiles are values that were measured.
WITH ok_runs AS (
    SELECT * FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
),
measured AS (
    SELECT * FROM step_stats WHERE session_id = $session_id AND kind = 'measured'
),
quantiles AS (
    SELECT
        case_name, workers, placement,
        count(*) AS steps,
        count(DISTINCT run_id) AS repeats,
        min(step_ns) AS fastest,
        quantile_disc(step_ns, [0.05, 0.25, 0.5, 0.75, 0.95]) AS quantile_ns,
        max(step_ns) AS slowest
    FROM measured
    JOIN ok_runs USING (session_id, run_id, attempt)
    GROUP BY case_name, workers, placement
),
final AS (
    SELECT
        case_name || ' ' || placement AS label,
        case_name,
        workers,
        placement,
        steps,
        repeats,
        fastest / 1e6 AS min_ms,
        quantile_ns[1] / 1e6 AS p5_ms,
        quantile_ns[2] / 1e6 AS p25_ms,
        quantile_ns[3] / 1e6 AS median_ms,
        quantile_ns[4] / 1e6 AS p75_ms,
        quantile_ns[5] / 1e6 AS p95_ms,
        slowest / 1e6 AS max_ms,
        (quantile_ns[5] - quantile_ns[1]) / quantile_ns[3] AS spread
    FROM quantiles
)
SELECT * FROM final ORDER BY case_name, workers, placement;
