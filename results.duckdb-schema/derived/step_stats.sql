-- One row per step of an attempt, over its ranks. The step time at step s is E(s) - E(s-1), where E is the latest end
-- over ranks, so that step times add up to the span. (The median of per-step maxima over ranks would be biased by the
-- number of ranks alone.) At the start of a kind of step or after a validation, a pause and a barrier precede the step,
-- so its time starts at its earliest rank; in a command, where one rank may validate or save alone, at its last rank.
-- `--pauses count` of a command leaves the pause in the step; `--pauses leave-out` also takes out that of `long_steps`.
WITH waiting_runs AS (
    SELECT session_id, run_id, attempt, strategy, ranks_train FROM runs WHERE world_size > 1
),
with_waits AS (
    SELECT
        steps.*,
        before_wait_of(strategy, ranks_train, data_ns, forward_ns) AS before_wait_ns,
        before_wait_of(strategy, ranks_train, 0, forward_ns) AS before_wait_ns_without_data,
        CASE strategy WHEN 'command' THEN start_ns END AS command_start_ns
    FROM steps
    LEFT JOIN waiting_runs USING (session_id, run_id, attempt)
),
over_ranks AS (
    SELECT
        session_id, run_id, attempt, step, kind,
        count(*)::INTEGER AS ranks,
        min(start_ns) AS start_ns,
        coalesce(max(command_start_ns), min(start_ns)) AS resumed_ns,
        max(start_ns + step_ns) AS end_ns,
        -- the smallest among equal ranks; comparing (step_ns, -rank) would take twice as long
        arg_max(rank, step_ns::HUGEINT * 1_000_000 - rank) AS slowest_rank,
        quantile_disc(before_wait_ns, 0.5) AS before_wait_ns_median,
        max(before_wait_ns) AS before_wait_ns_max,
        max(before_wait_ns_without_data) AS before_wait_ns_max_without_data,
        arg_max(rank, before_wait_ns::HUGEINT * 1_000_000 - rank) AS last_to_wait_rank,
        avg(loss) AS loss,
        (count(*) FILTER (NOT isfinite(loss)))::INTEGER AS nonfinite_losses,
        max(memory_allocated_bytes) AS memory_allocated_bytes,
        max(memory_reserved_bytes) AS memory_reserved_bytes
    FROM with_waits
    GROUP BY session_id, run_id, attempt, step, kind
),
with_previous AS (
    SELECT
        *,
        lag(end_ns) OVER earlier AS previous_end_ns,
        lag(step) OVER earlier AS previous_step
    FROM over_ranks
    WINDOW earlier AS (PARTITION BY session_id, run_id, attempt, kind ORDER BY step)
),
resumed_steps AS (
    SELECT session_id, run_id, attempt, step AS resumed_step, pauses_of(any_value(config)) AS pauses
    FROM (
        SELECT session_id, run_id, attempt, step FROM evals
        UNION
        SELECT session_id, run_id, attempt, step FROM pauses
    )
    JOIN runs USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, step
),
left_out AS (
    SELECT
        session_id, run_id, attempt, step AS long_step, max(pause_ns) AS paused_ns,
        max(usual_step_ns) AS usual_step_ns
    FROM long_steps
    SEMI JOIN (FROM runs WHERE pauses_of(config) = 'leave-out') AS without_pauses USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt, step
),
final AS (
    SELECT
        with_previous.* EXCLUDE (resumed_ns, previous_end_ns, previous_step)
        REPLACE (CASE WHEN nonfinite_losses = 0 THEN loss END AS loss),
        CASE WHEN previous_step = step - 1 AND resumed_step IS NOT NULL THEN resumed_ns - previous_end_ns END
            AS pause_ns,  -- a validation, or a pause of a command of a known kind, before the step; null: none
        end_ns - CASE
            WHEN previous_step = step - 1 AND (resumed_step IS NULL OR pauses IS NOT DISTINCT FROM 'count')
                THEN previous_end_ns
            WHEN resumed_step IS NOT NULL THEN resumed_ns
            ELSE start_ns
        END AS whole_ns,
        -- left_out_ns: time of an unexplained pause that `--pauses leave-out` takes out, at most what is unusual
        greatest(0, least(coalesce(paused_ns, 0), whole_ns - coalesce(usual_step_ns, 0)))::BIGINT AS left_out_ns,
        whole_ns - left_out_ns AS step_ns  -- E(s) - E(s-1)
        -- step: 0-based
        -- ranks: ranks that completed the step
        -- start_ns: earliest start over ranks
        -- end_ns: E(s), the latest end over ranks
        -- slowest_rank: the rank whose own step took longest
        -- before_wait_ns_median: time before a rank first waits for others, median rank (the lower of two)
        -- before_wait_ns_max: that time of the slowest rank; null for one rank, and if waits are unknown
        -- before_wait_ns_max_without_data: before_wait_ns_max as if no rank had to wait for data
        -- last_to_wait_rank: rank of before_wait_ns_max: the others wait for it
        -- loss: mean over ranks; null if the loss of any rank is not finite
        -- nonfinite_losses: number of ranks whose loss was NaN or infinite
        -- memory_allocated_bytes: largest over ranks
        -- memory_reserved_bytes: largest over ranks
    FROM with_previous
    LEFT JOIN resumed_steps
        ON resumed_steps.session_id = with_previous.session_id AND resumed_steps.run_id = with_previous.run_id
        AND resumed_steps.attempt = with_previous.attempt AND resumed_step = with_previous.step
    LEFT JOIN left_out
        ON left_out.session_id = with_previous.session_id AND left_out.run_id = with_previous.run_id
        AND left_out.attempt = with_previous.attempt AND long_step = with_previous.step
)
SELECT * EXCLUDE whole_ns FROM final;
