-- Step time at step s is E(s) - E(s-1), E = the latest end over ranks: it telescopes to the span. (The median of
-- per-step maxima over ranks would be biased by the number of ranks alone.) Where a kind begins or ranks validated
-- before the step, a pause and a barrier lie before it: there the step begins at its earliest rank.
WITH waiting_runs AS (
    SELECT session_id, run_id, attempt, strategy FROM incoming_runs WHERE world_size > 1
),
with_waits AS (
    SELECT
        incoming_steps.*,
        before_wait_of(strategy, data_ns, forward_ns) AS before_wait_ns,
        before_wait_of(strategy, 0, forward_ns) AS before_wait_ns_without_data
    FROM incoming_steps
    LEFT JOIN waiting_runs USING (session_id, run_id, attempt)
),
over_ranks AS (
    SELECT
        session_id, run_id, attempt, step, kind,
        count(*) AS ranks,
        min(start_ns) AS start_ns,
        max(start_ns + step_ns) AS end_ns,
        min(step_ns) AS rank_step_ns_min,
        avg(step_ns) AS rank_step_ns_mean,
        max(step_ns) AS rank_step_ns_max,
        -- of ranks that are equal the smallest; comparing (step_ns, -rank) would take twice as long
        arg_max(rank, step_ns::HUGEINT * 1_000_000 - rank) AS slowest_rank,
        quantile_disc(before_wait_ns, 0.5) AS before_wait_ns_median,
        max(before_wait_ns) AS before_wait_ns_max,
        max(before_wait_ns_without_data) AS before_wait_ns_max_without_data,
        arg_max(rank, before_wait_ns::HUGEINT * 1_000_000 - rank) AS last_to_wait_rank,
        avg(loss) AS loss,
        count(*) FILTER (NOT isfinite(loss)) AS nonfinite_losses,
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
validations AS (
    SELECT DISTINCT session_id, run_id, attempt, step AS validated_step
    FROM incoming_evals
),
final AS (
    SELECT
        with_previous.* EXCLUDE (previous_end_ns, previous_step)
        REPLACE (CASE WHEN nonfinite_losses = 0 THEN loss END AS loss),
        end_ns - CASE
            WHEN previous_step = step - 1 AND validated_step IS NULL THEN previous_end_ns
            ELSE start_ns
        END AS step_ns
    FROM with_previous
    LEFT JOIN validations
        ON validations.session_id = with_previous.session_id AND validations.run_id = with_previous.run_id
        AND validations.attempt = with_previous.attempt AND validated_step = with_previous.step
)
SELECT * FROM final;
