-- One row per case, placement, rank and bin of steps: the rank's median time of a measured step in that bin.
-- The first ok repeat of each placement; up to 50 bins of neighbouring steps. Beyond 8 ranks: the 4 slowest and the
-- 4 fastest by their mean. Beyond 12 placements: the 12 whose ranks differ most in their means.
WITH rank_means AS (
    SELECT run_rank_stats.*, case_name, workers, placement
    FROM run_rank_stats
    JOIN first_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND first_runs.measured_steps > 0
),
ranked AS (
    SELECT
        run_id, attempt,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY max(step_ns_mean) / min(step_ns_mean) DESC, run_id) AS place
    FROM rank_means
    GROUP BY run_id, attempt
),
shown_ranks AS (
    SELECT
        rank_means.*, panel_count,
        if(2 * row_number() OVER by_mean > count(*) OVER of_run, 'slower', 'faster') AS half,
        CASE row_number() OVER by_mean WHEN count(*) OVER of_run THEN 'slowest' WHEN 1 THEN 'fastest' END AS extreme
    FROM rank_means
    JOIN ranked USING (run_id, attempt)
    WHERE place <= 12
    WINDOW
        of_run AS (PARTITION BY run_id, attempt),
        by_mean AS (PARTITION BY run_id, attempt ORDER BY step_ns_mean, rank)
    QUALIFY row_number() OVER by_mean <= 4 OR row_number() OVER by_mean > count(*) OVER of_run - 4
),
measured_runs AS (
    SELECT run_id, attempt, min(step) AS first_step, count(*) AS steps
    FROM step_stats
    JOIN ranked USING (run_id, attempt)
    WHERE session_id = $session_id AND kind = 'measured' AND place <= 12
    GROUP BY run_id, attempt
),
measured AS (
    SELECT
        case_name, workers, placement, rank, half, extreme, panel_count,
        steps.step,
        steps.step_ns,
        steps.step - first_step AS position,
        measured_runs.steps
    FROM steps
    JOIN shown_ranks USING (session_id, run_id, attempt, rank)
    JOIN measured_runs USING (run_id, attempt)
    WHERE steps.session_id = $session_id AND steps.kind = 'measured'
),
final AS (
    SELECT
        case_name || ' ' || placement AS panel,
        case_name,
        workers,
        placement,
        rank,
        half,
        extreme,
        'rank ' || rank AS name,
        min(step) AS step,
        quantile_disc(step_ns, 0.5) / 1e6 AS rank_step_ms,
        any_value(panel_count) AS panel_count
    FROM measured
    GROUP BY case_name, workers, placement, rank, half, extreme, if(steps <= 50, position, position * 50 // steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, rank, step;
