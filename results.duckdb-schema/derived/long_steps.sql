-- One row per rank and measured step of a command with a pause of which nothing is known: a rank spends more time in no
-- phase than usual, by more than four of its median steps and 10 ms, as a busy machine may take a few ms from any step.
-- The other ranks wait for it, in the same step or, if they had all that they needed, in the next one. The rows of
-- `steps` stay as they were recorded. Runs in which torch.compile ran in measured steps are left out.
WITH commands AS (
    SELECT session_id, run_id, attempt
    FROM runs
    WHERE strategy = 'command' AND coalesce(measured_recompiles, 0) = 0
),
measured AS (
    SELECT
        session_id, run_id, attempt, rank, step, step_ns, data_ns, forward_ns, backward_ns, optimizer_ns,
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
        median(data_ns) AS usual_data_ns,
        median(forward_ns) AS usual_forward_ns,
        median(backward_ns) AS usual_backward_ns,
        median(optimizer_ns) AS usual_optimizer_ns
    FROM measured
    GROUP BY session_id, run_id, attempt, rank
),
-- own_ns: time beyond the usual in no phase, if it is a pause; beyond: that of each phase, the largest first
each_rank AS (
    SELECT
        session_id, run_id, attempt, rank, step, usual_step_ns,
        if(other_ns - usual_other_ns > greatest(4 * usual_step_ns, 10_000_000), other_ns - usual_other_ns, 0) AS own_ns,
        list_reverse_sort([
            {'ns': coalesce(data_ns - usual_data_ns, 0), 'phase': 'data'},
            {'ns': coalesce(forward_ns - usual_forward_ns, 0), 'phase': 'forward'},
            {'ns': coalesce(backward_ns - usual_backward_ns, 0), 'phase': 'backward'},
            {'ns': coalesce(optimizer_ns - usual_optimizer_ns, 0), 'phase': 'optimizer'}
        ])[1] AS beyond
    FROM measured
    JOIN usual USING (session_id, run_id, attempt, rank)
),
longest AS (
    SELECT session_id, run_id, attempt, step, max(own_ns) AS pause_ns
    FROM each_rank
    WHERE own_ns > 0
    GROUP BY session_id, run_id, attempt, step
),
here AS (
    SELECT
        each_rank.*, pause_ns,
        least(greatest(beyond.ns, 0), pause_ns - own_ns) AS waited_ns
    FROM each_rank
    JOIN longest USING (session_id, run_id, attempt, step)
),
-- Ranks that have not waited in the step of the pause, in the next one.
later AS (
    SELECT
        each_rank.*, 0 AS pause_ns,
        least(greatest(each_rank.beyond.ns, 0), here.pause_ns - here.own_ns - here.waited_ns) AS waited_ns
    FROM each_rank
    JOIN here
        ON here.session_id = each_rank.session_id AND here.run_id = each_rank.run_id
        AND here.attempt = each_rank.attempt AND here.rank = each_rank.rank AND here.step = each_rank.step - 1
    ANTI JOIN longest AS paused
        ON paused.session_id = each_rank.session_id AND paused.run_id = each_rank.run_id
        AND paused.attempt = each_rank.attempt AND paused.step = each_rank.step
),
final AS (
    SELECT
        session_id, run_id, attempt, rank, step,
        pause_ns::BIGINT AS pause_ns,  -- the run's pause, that of the rank which takes longest; 0 in the step after it
        own_ns::BIGINT AS own_ns,      -- the part that this rank spends in no phase
        waited_ns::BIGINT AS waited_ns,  -- the part that it spends in waiting for the others
        beyond.phase AS waited_in,     -- phase in which it waits: data, forward, backward, optimizer
        usual_step_ns::BIGINT AS usual_step_ns  -- median step of this rank
    FROM (FROM here UNION ALL BY NAME FROM later)
    WHERE pause_ns > 0 OR waited_ns > 0
)
SELECT * FROM final;
