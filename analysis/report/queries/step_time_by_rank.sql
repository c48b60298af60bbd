-- One row per case, placement, rank and bin of steps: the rank's median time of a measured step in that bin.
-- The first ok repeat of each placement; up to 50 bins of neighbouring steps. Beyond 8 ranks: the 4 slowest and the
-- 4 fastest by their mean.
WITH first_runs AS (
    SELECT *, nodes || 'x' || ranks_per_node || if(axis = 'threads', ' t' || threads, '') AS placement
    FROM run_summary
    WHERE session_id = $session_id AND status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY case_name, placement ORDER BY repeat) = 1
),
shown_ranks AS (
    SELECT * FROM run_rank_stats
    WHERE session_id = $session_id
    WINDOW
        of_run AS (PARTITION BY run_id, attempt),
        by_mean AS (PARTITION BY run_id, attempt ORDER BY step_ns_mean, rank)
    QUALIFY row_number() OVER by_mean <= 4 OR row_number() OVER by_mean > count(*) OVER of_run - 4
),
measured AS (
    SELECT
        first_runs.case_name,
        first_runs.workers,
        first_runs.placement,
        steps.rank,
        steps.step,
        steps.step_ns,
        step - min(step) OVER of_rank AS position,
        count(*) OVER of_rank AS steps
    FROM steps
    JOIN first_runs USING (session_id, run_id, attempt)
    JOIN shown_ranks USING (session_id, run_id, attempt, rank)
    WHERE steps.session_id = $session_id AND steps.kind = 'measured'
    WINDOW of_rank AS (PARTITION BY run_id, attempt, rank)
),
final AS (
    SELECT
        case_name || ' ' || placement AS panel,
        case_name,
        workers,
        placement,
        rank,
        min(step) AS step,
        quantile_disc(step_ns, 0.5) / 1e6 AS step_ms
    FROM measured
    GROUP BY case_name, workers, placement, rank, if(steps <= 50, position, position * 50 // steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, rank, step;
