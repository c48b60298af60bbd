-- One row per pause between or within the measured steps of an attempt, over its ranks, and per kind in it.
WITH kinds AS (
    SELECT session_id, run_id, attempt, step, kind, max(pause_ns) AS pause_ns
    FROM pauses
    GROUP BY session_id, run_id, attempt, step, kind
),
-- Validations of our own training, and of commands that an older version recorded, have no rows in `pauses`.
known AS (
    SELECT
        session_id, run_id, attempt, step,
        coalesce(kinds.kind, 'validation') AS kind,
        step_stats.pause_ns * coalesce(
            kinds.pause_ns / nullif(sum(kinds.pause_ns) OVER (PARTITION BY session_id, run_id, attempt, step), 0), 1
        ) AS pause_ns
    FROM step_stats
    LEFT JOIN kinds USING (session_id, run_id, attempt, step)
    WHERE step_stats.kind = 'measured' AND step_stats.pause_ns > 0
),
unexplained AS (
    SELECT session_id, run_id, attempt, step, 'unexplained' AS kind, max(pause_ns) AS pause_ns
    FROM long_steps
    WHERE pause_ns > 0
    GROUP BY session_id, run_id, attempt, step
),
final AS (
    SELECT
        session_id, run_id, attempt,
        step - 1 AS after_step,     -- the step that it follows
        kind,                       -- validation, saving; unexplained: the script did something else
        pause_ns / 1e9 AS pause_s   -- duration, on the rank that takes longest
    FROM (FROM known UNION ALL FROM unexplained)
)
SELECT * FROM final;
