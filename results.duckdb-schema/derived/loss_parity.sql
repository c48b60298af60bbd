-- One row per session, case, placement other than the case's baseline, and repeat: whether it trained like the
-- baseline. The same repeat has the same seed, and under strong scaling the same global batches, so losses may differ
-- only by rounding. This also holds if the sizes accumulate differently: the mean over micro-batches of equal size is
-- the mean over the batch, unless the model couples the examples of a batch. The losses of the first 20 steps, with
-- warm-up, are compared and judged; later differences are reported without a verdict. The baseline here is always the
-- case's smallest ok n (fewest nodes among equals), also if `baseline:` names another.
WITH attempts AS (
    SELECT
        session_id, run_id, attempt, couples_examples,
        coalesce(config ->> '$.train.float8' = 'true', false) AS is_float8,
        -- The format of gradients in transfer, if the strategy defines it: ddp, fsdp. PowerSGD does not depend on n.
        coalesce(
            config ->> '$.strategy_options.gradient_compression', config ->> '$.strategy_options.reduce_dtype'
        ) AS reduced_as
    FROM runs
),
each_run AS (
    SELECT run_summary.*, couples_examples, is_float8, reduced_as
    FROM run_summary
    JOIN attempts USING (session_id, run_id, attempt)
    WHERE status <> 'skipped'
),
-- A step that some rank did not complete has no mean over all ranks.
early_steps AS (
    SELECT session_id, run_id, attempt, step, ranks, loss, nonfinite_losses
    FROM step_stats
    WHERE step < 20 AND kind IN ('warmup', 'measured')
),
losses AS MATERIALIZED (
    SELECT
        each_run.session_id, each_run.case_name, each_run.nodes, each_run.ranks_per_node, each_run.threads,
        each_run.repeat, step, loss, early_steps.nonfinite_losses > 0 AS nonfinite
    FROM early_steps
    JOIN each_run USING (session_id, run_id, attempt)
    WHERE ranks = world_size
),
baseline_placements AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads
    FROM each_run
    WHERE status = 'ok'
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads, repeat
    ) = 1
),
baselines AS (
    SELECT
        session_id, case_name, repeat,
        nodes AS baseline_nodes,
        ranks_per_node AS baseline_ranks_per_node,
        threads AS baseline_threads,
        workers AS baseline_workers,
        placement AS baseline_placement,
        global_batch AS baseline_global_batch,
        steps_completed AS baseline_steps,
        final_loss AS baseline_final_loss
    FROM each_run
    SEMI JOIN baseline_placements USING (session_id, case_name, nodes, ranks_per_node, threads)
),
paired AS (
    SELECT
        each_run.*,
        baselines.* EXCLUDE (session_id, case_name, repeat),
        scaling_mode <> 'weak' AND global_batch = baseline_global_batch AS is_alike,
        least(20, greatest(steps_completed, baseline_steps)) AS steps_wanted
    FROM each_run
    LEFT JOIN baselines USING (session_id, case_name, repeat)
    ANTI JOIN baseline_placements USING (session_id, case_name, nodes, ranks_per_node, threads)
),
compared_steps AS (
    SELECT
        paired.session_id, run_id, one.step,
        one.nonfinite AS one_nonfinite,
        many.nonfinite AS many_nonfinite,
        -- Two losses of zero agree, as do two means over ranks that differ only in the order of summation.
        greatest(abs(one.loss), abs(many.loss)) AS larger,
        if(abs(many.loss - one.loss) <= 1e-12 * larger, 0, abs(many.loss - one.loss) / larger) AS difference
    FROM paired
    JOIN losses AS many USING (session_id, case_name, nodes, ranks_per_node, threads, repeat)
    JOIN losses AS one
        ON one.session_id = paired.session_id AND one.case_name = paired.case_name AND one.repeat = paired.repeat
        AND one.nodes = baseline_nodes AND one.ranks_per_node = baseline_ranks_per_node
        AND one.threads = baseline_threads AND one.step = many.step
    WHERE is_alike
),
differences AS (
    SELECT
        session_id, run_id,
        count(difference) AS steps_compared,
        max(difference) AS largest_relative_difference,
        arg_max(step, (difference, -step)) FILTER (difference > 0) AS at_step,
        min(step) FILTER (one_nonfinite <> many_nonfinite) AS one_sided_step,
        min(step) FILTER (one_nonfinite AND many_nonfinite) AS both_sided_step
    FROM compared_steps
    GROUP BY session_id, run_id
),
with_tolerance AS (
    SELECT *, greatest(loss_tolerance_of(precision), loss_tolerance_of(reduced_as)) AS tolerance
    FROM paired
    LEFT JOIN differences USING (session_id, run_id)
),
-- The first condition that holds decides.
with_unlike AS (
    SELECT
        *,
        CASE
            WHEN baseline_workers IS NULL THEN 'the baseline has no such repeat'
            WHEN scaling_mode = 'weak' THEN 'weak scaling: more ranks, another global batch'
            WHEN global_batch <> baseline_global_batch
            THEN format('global batch {} against {}', global_batch, baseline_global_batch)
            WHEN is_float8 AND largest_relative_difference > tolerance
            THEN 'float8 scales each tensor by its largest element, which depends on the batch of a rank'
            WHEN couples_examples THEN 'the model couples the examples of a batch, as BatchNorm does'
            WHEN largest_relative_difference > tolerance AND examples_per_step IS DISTINCT FROM global_batch
            THEN 'the batches differ in size, and a step gives each rank the same weight'
        END AS unlike  -- why the two need not train alike
    FROM with_tolerance
),
-- A verdict has a reason only if a loss is not finite.
with_reason AS (
    SELECT
        *,
        CASE
            WHEN unlike IS NOT NULL THEN unlike
            WHEN one_sided_step IS NOT NULL THEN format('not finite on one side alone at step {}', one_sided_step)
            WHEN largest_relative_difference > tolerance AND couples_examples IS NULL
            THEN 'not recorded whether the model couples the examples of a batch'
            WHEN largest_relative_difference > tolerance AND precision = 'fp16'
            THEN 'beyond the tolerance of fp16, whose loss scaler may have skipped a step on one side alone'
            WHEN largest_relative_difference > tolerance THEN NULL
            WHEN both_sided_step IS NOT NULL THEN format('not finite on either side from step {} on', both_sided_step)
            WHEN coalesce(steps_compared, 0) = 0 THEN 'no step is there on both sides'
            WHEN steps_compared < steps_wanted
            THEN format('{} of {} steps are there on both sides', steps_compared, steps_wanted)
        END AS reason
    FROM with_unlike
),
final AS (
    SELECT
        session_id, run_id, attempt, suite, case_name, workload, strategy, scaling_mode, axis, workers, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        nodes, ranks_per_node, threads, placement, repeat, status, precision,
        baseline_workers,              -- n of the baseline
        baseline_placement,            -- placement of the baseline
        couples_examples,
        coalesce(steps_compared, 0) AS steps_compared,  -- number of the first 20 steps that are finite on both sides
        largest_relative_difference,   -- between the two losses of a step, relative to the larger of them
        at_step,  -- step with that difference, the first of equals; null if the losses are the same
        tolerance,  -- limit on it, by precision, or by the format of gradients in transfer if that is coarser
        CASE
            WHEN reason IS NULL AND largest_relative_difference > tolerance THEN 'different'
            WHEN reason IS NULL THEN 'same'
            WHEN unlike IS NULL AND one_sided_step IS NOT NULL THEN 'different'
        END AS verdict,                -- same, different; null if the two cannot be judged
        reason,                        -- why there is no verdict, or why the verdict does not come from the difference
        -- final_loss_relative_difference: final_loss relative to the baseline's; never judged
        if(is_alike, final_loss / nullif(baseline_final_loss, 0) - 1, NULL) AS final_loss_relative_difference
    FROM with_reason
)
SELECT * FROM final;
