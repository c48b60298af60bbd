-- One row per rank and measured step of a command in which the script did something else than training, as the times of its
-- phases show: a rank of the run spends more time in no phase than usual, by more than four of its median steps. The
-- other ranks wait for it within their phases. The rows of `steps` stay as they were recorded. Steps in which torch.compile
-- may have run are left out.
WITH commands AS (
    SELECT session_id, run_id, attempt
    FROM runs
    WHERE strategy = 'command' AND coalesce(measured_recompiles, 0) = 0
),
measured AS (
    SELECT
        session_id, run_id, attempt, rank, step, step_ns, forward_ns, backward_ns,
        step_ns - coalesce(data_ns, 0) - coalesce(forward_ns, 0) - coalesce(backward_ns, 0) - coalesce(optimizer_ns, 0)
            AS other_ns
    FROM steps
    SEMI JOIN commands USING (session_id, run_id, attempt)
    WHERE kind = 'measured'
),
usual AS (
    SELECT
        session_id, run_id, attempt, rank,
        median(step_ns) AS usual_step_ns,
        median(other_ns) AS usual_other_ns,
        median(forward_ns) AS usual_forward_ns,
        median(backward_ns) AS usual_backward_ns
    FROM measured
    GROUP BY session_id, run_id, attempt, rank
),
-- own_ns: time beyond the usual in no phase, if it is a pause
each_rank AS (
    SELECT
        *,
        CASE WHEN other_ns - usual_other_ns > 4 * usual_step_ns THEN other_ns - usual_other_ns ELSE 0 END AS own_ns,
        max(own_ns) OVER of_step AS pause_ns
    FROM measured
    JOIN usual USING (session_id, run_id, attempt, rank)
    WINDOW of_step AS (PARTITION BY session_id, run_id, attempt, step)
),
final AS (
    SELECT
        session_id, run_id, attempt, rank, step,
        pause_ns::BIGINT AS pause_ns,  -- duration of the run's pause, that of the rank which takes longest
        own_ns::BIGINT AS own_ns,      -- the part that this rank spends in no phase
        least(greatest(step_ns - usual_step_ns - own_ns, 0), pause_ns - own_ns)::BIGINT AS waited_ns,
        -- waited_in: phase in which it waits for the others: forward, backward
        CASE WHEN coalesce(backward_ns - usual_backward_ns >= forward_ns - usual_forward_ns, forward_ns IS NULL)
            THEN 'backward' ELSE 'forward'
        END AS waited_in
        -- waited_ns: the part that it spends in waiting for the others
    FROM each_rank
    WHERE pause_ns > 0
)
SELECT * FROM final;
