-- One row per profiled step of a command in which a rank validates or saves, or spends more time in no phase than
-- usual, by more than four of its median measured steps and 10 ms. The other ranks then wait for something else than
-- communication, so no figure counts such a step.
WITH times AS (
    SELECT
        session_id, run_id, attempt, rank, step, kind, step_ns,
        step_ns - coalesce(data_ns, 0) - coalesce(forward_ns, 0) - coalesce(backward_ns, 0) - coalesce(optimizer_ns, 0)
            AS other_ns
    FROM steps
    SEMI JOIN (FROM runs WHERE strategy = 'command') AS commands USING (session_id, run_id, attempt)
    WHERE kind IN ('measured', 'profiled')
),
usual AS (
    SELECT session_id, run_id, attempt, rank, median(step_ns) AS usual_step_ns, median(other_ns) AS usual_other_ns
    FROM times
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt, rank
),
final AS (
    SELECT session_id, run_id, attempt, step
    FROM pauses
    JOIN times USING (session_id, run_id, attempt, rank, step)
    WHERE times.kind = 'profiled'
    UNION
    SELECT session_id, run_id, attempt, step
    FROM times
    JOIN usual USING (session_id, run_id, attempt, rank)
    WHERE kind = 'profiled' AND other_ns - usual_other_ns > greatest(4 * usual_step_ns, 10_000_000)
)
SELECT * FROM final;
