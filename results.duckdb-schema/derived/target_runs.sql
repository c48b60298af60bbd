-- One row per run that was to train until a target and began (last attempt): what it needed to reach the target. A run
-- that missed it is here too: what it needed is then more than its row says. The target is a validation loss
-- (`measure.until_loss`), reached at the first validation that is not above it, or that of an imported training.
WITH attempts AS (
    SELECT
        session_id, run_id, attempt, whole_run_s, whole_run_examples, whole_run_training_s, whole_run_reached,
        (config -> '$.workload_options')::VARCHAR AS workload_options
    FROM runs
),
-- Script pauses and best values of imports are no validations at a known step.
validated AS (
    SELECT session_id, run_id, attempt, step, val_loss, elapsed_s, validation_s
    FROM evals
    WHERE step IS NOT NULL AND val_loss IS NOT NULL
),
-- Null: the file does not know. A sum would ignore that.
validations AS (
    SELECT
        *,
        coalesce(lag(step) OVER so_far, 0) AS step_before,
        CASE WHEN count(validation_s) OVER so_far = count(*) OVER so_far THEN sum(validation_s) OVER so_far END
            AS validations_s
    FROM validated
    WINDOW so_far AS (PARTITION BY session_id, run_id, attempt ORDER BY step)
),
trials AS (
    SELECT
        summary.* EXCLUDE (until_loss),
        summary.until_loss,
        attempts.* EXCLUDE (session_id, run_id, attempt)
    FROM run_summary AS summary
    JOIN attempts USING (session_id, run_id, attempt)
    WHERE (summary.until_loss IS NOT NULL OR whole_run_reached IS NOT NULL) AND status <> 'skipped'
),
-- The validation that ended the trial: the first at the target, or the last of a run that missed it.
ends AS (
    SELECT
        session_id, run_id, attempt,
        coalesce(val_loss <= until_loss, false) AS is_at_target,
        validations.step AS end_step,
        (step - step_before) / nullif(step, 0) AS since_last,
        validations.elapsed_s + validations.validation_s AS end_s,
        validations_s
    FROM trials
    JOIN validations USING (session_id, run_id, attempt)
    QUALIFY row_number() OVER (
        PARTITION BY session_id, run_id, attempt
        ORDER BY is_at_target DESC, CASE WHEN is_at_target THEN step ELSE -step END
    ) = 1
),
measured AS (
    SELECT
        trials.*,
        coalesce(whole_run_reached, is_at_target, false) AS reached,
        end_step AS steps,
        since_last,
        coalesce(whole_run_examples, end_step * examples_per_step) AS examples,
        coalesce(whole_run_s, setup_s + end_s) AS seconds,
        validations_s AS validation_s,
        CASE
            WHEN whole_run_s IS NULL THEN trials.throughput
            ELSE whole_run_examples / whole_run_training_s
        END AS training_throughput
    FROM trials
    LEFT JOIN ends USING (session_id, run_id, attempt)
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, workload,
        workload_options,              -- options of the workload, as JSON
        data_source, strategy, scaling_mode, axis,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        workers, world_size, nodes, ranks_per_node, threads, placement, oversubscribed, repeat, round, device_type,
        precision, global_batch, examples_per_step, baseline, stops_early, status,
        until_loss,                    -- validation loss to reach; null: the target of an imported training
        reached,                       -- whether it reached the target; if not, the next columns are lower bounds
        steps,                         -- optimizer steps before the validation at the target, warm-up included
        -- examples: examples in these steps; null if it has no validation
        CASE WHEN examples > 0 THEN examples::DOUBLE END AS examples,
        CASE WHEN seconds > 0 THEN seconds END AS seconds,  -- the whole clock to the end of that validation
        training_throughput AS throughput,  -- examples/s of measured steps, of an import while it trained
        since_last,  -- share of these examples since the validation before; null without one at a known step
        examples / training_throughput AS training_s,  -- time in which these examples are trained at the throughput
        setup_s,                       -- start of the run to the ranks' common barrier
        validation_s,                  -- time in validations, the last included
        -- other_s: the rest of the clock: what slow first steps take beyond training_s, checkpoints, pauses
        seconds - training_s - setup_s - validation_s AS other_s,
        training_s / seconds AS training_share  -- share of the clock in which it trained
    FROM measured
)
SELECT * FROM final;
