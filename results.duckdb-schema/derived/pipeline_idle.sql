-- One row per session, case and placement of a pipeline and position in it: how long the ranks with these stages wait
-- for other stages, over measured steps of ok repeats. Intervals: Student's t over repeats, two-sided 95 %, null below
-- two. `ideal_idle_share` is that of stages that all take equally long and send in no time (Narayanan et al. 2021,
-- arXiv:2104.04473): (p - 1) / (v m + p - 1) with p ranks, v stages of each rank and m micro-batches; null for
-- zero_bubble, whose share depends on how backward divides.
WITH shapes AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads,
        accumulate AS micro_batches,
        config ->> '$.strategy_options.schedule' AS schedule,
        coalesce(
            try_cast(config ->> '$.strategy_options.stages_per_rank' AS INTEGER),
            if(config ->> '$.strategy_options.schedule' = 'interleaved', 2, 1)
        ) AS stages_per_rank,
        coalesce(try_cast(config ->> '$.strategy_options.tp' AS INTEGER), 1) AS tp,
        coalesce(try_cast(config ->> '$.strategy_options.pp' AS INTEGER), world_size) AS pp
    FROM runs
    WHERE status = 'ok' AND probe IS NOT TRUE AND strategy IN ('pp', 'mesh')
),
over_steps AS (
    SELECT
        session_id, run_id, attempt, rank,
        sum(idle_ns) / sum(pipeline_ns) AS idle_share,
        avg(pipeline_ns) / 1e6 AS pipeline_ms,
        avg(pipeline_ns - idle_ns) / 1e6 AS work_ms
    FROM pipeline_steps
    SEMI JOIN (FROM step_stats WHERE kind = 'measured') AS measured USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, rank
),
each_repeat AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, run_id,
        rank // tp % pp AS position,
        any_value(pp) AS pp,
        any_value(stages_per_rank) AS stages_per_rank,
        any_value(micro_batches) AS micro_batches,
        any_value(schedule) AS schedule,
        avg(idle_share) AS idle_share,
        avg(pipeline_ms) AS pipeline_ms,
        avg(work_ms) AS work_ms
    FROM shapes
    JOIN over_steps USING (session_id, run_id, attempt)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, run_id, position
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, position,
        any_value(pp) AS pp,
        any_value(stages_per_rank) AS stages_per_rank,
        any_value(micro_batches) AS micro_batches,
        any_value(schedule) AS schedule,
        count(*) AS repeats,
        avg(idle_share) AS idle_share,
        mean_half_width(count(*), var_samp(idle_share)) AS half_width,
        avg(pipeline_ms) AS pipeline_ms,
        avg(work_ms) AS work_ms
    FROM each_repeat
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, position
),
final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        position,           -- 0-based position in the pipeline: 0 has the first stage
        pp,                 -- ranks that the pipeline passes through
        stages_per_rank,    -- consecutive micro-batches pass through them in turn
        micro_batches,      -- per optimizer step
        schedule,           -- gpipe, 1f1b, interleaved, zero_bubble
        repeats,            -- ok repeats
        idle_share,         -- share of pipeline_ms, mean over steps, ranks and repeats
        end_of_share(idle_share - half_width) AS idle_share_lo,
        end_of_share(idle_share + half_width) AS idle_share_hi,
        -- ideal_idle_share: of equal stages that send in no time; null for zero_bubble
        CASE
            WHEN schedule <> 'zero_bubble' THEN (pp - 1) / (stages_per_rank * micro_batches + pp - 1)
        END AS ideal_idle_share,
        pipeline_ms,        -- forward and backward of a step, with the waits
        work_ms             -- of it at work
    FROM over_repeats
)
SELECT * FROM final;
