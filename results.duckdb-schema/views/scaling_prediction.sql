-- One row per session, case, kind of prediction and n: the throughput by the case's law (law_fits), at the measured
-- sizes and at the next four doublings of the largest. Under strong scaling, there are never more ranks than examples
-- in the global batch. Intervals are two-sided 95 %: the errors of the forms, their disagreement, and the error of
-- leaving the largest size out for each doubling ahead. They hold if nothing new begins beyond the measured sizes,
-- which no law can check. `communication` is not a fitted law but communication_prediction; its interval is the range
-- of the overlap.
CREATE OR REPLACE VIEW scaling_prediction AS
WITH fits AS (
    SELECT * FROM law_fits
    WHERE curve IS NOT NULL
    -- Sizes of one node are also among all sizes.
    QUALIFY segment <> 'one node' OR NOT bool_or(segment = 'all') OVER (PARTITION BY session_id, case_name)
),
suites AS (
    SELECT session_id, suite FROM sessions
),
points AS (
    SELECT
        session_id, case_name, workers,
        any_value(measured_throughput) AS measured_throughput,
        any_value(measured_speedup) AS measured_speedup
    FROM law_points
    GROUP BY session_id, case_name, workers
),
cases AS (
    SELECT
        session_id, case_name,
        any_value(global_batch) AS global_batch,
        any_value(throughput_of_one) AS throughput_of_one
    FROM law_points
    GROUP BY session_id, case_name
),
curves AS (
    SELECT session_id, case_name, scaling_mode, axis, segment, largest_workers, left_out_error, unnest(curve) AS point
    FROM fits
),
values_of_sizes AS (
    SELECT * EXCLUDE point, unnest(point) FROM curves
),
fitted AS (
    SELECT
        session_id, suite, case_name, scaling_mode, axis, segment,
        'fitted' AS law,
        workers,
        CASE WHEN workers > largest_workers THEN 'predicted' ELSE 'measured' END AS kind,
        throughput, throughput_lo, throughput_hi, measured_throughput, measured_speedup, throughput_of_one,
        throughput / measured_throughput - 1 AS relative_error,
        left_out_error
    FROM values_of_sizes
    JOIN suites USING (session_id)
    JOIN cases USING (session_id, case_name)
    LEFT JOIN points USING (session_id, case_name, workers)
    WHERE
        workers <= largest_workers OR scaling_mode = 'weak' OR axis = 'threads'
        OR workers <= coalesce(global_batch, workers)
),
both_kinds AS (
    SELECT * FROM fitted
    UNION ALL BY NAME
    SELECT
        session_id, suite, case_name, scaling_mode, axis, 'communication' AS law, kind, workers,
        communication_prediction.measured_throughput,
        CASE WHEN communication_prediction.measured_throughput IS NOT NULL THEN measured_speedup END
            AS measured_speedup,
        throughput_of_one, throughput, throughput_lo, throughput_hi, relative_error
    FROM communication_prediction
    LEFT JOIN points USING (session_id, case_name, workers)
    WHERE has_fewest_nodes
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, axis,
        law,                                      -- fitted, communication
        kind,                                     -- measured, predicted
        workers,
        throughput,                               -- by the law, in the unit of throughput
        throughput_lo,                            -- lower end of the 95 % interval; of communication: without overlap
        throughput_hi,                            -- upper end of the 95 % interval; of communication: with full overlap
        measured_throughput,                      -- as in scaling; null if kind is predicted
        relative_error,   -- of the law compared with the measurement; null if communication starts from it
        -- left_out_error: error of the law at the largest measured size, if it is fitted to the other sizes
        left_out_error,
        -- segment: sizes that were fitted together: all, one node, across nodes; null for communication
        segment,
        -- speedup: as in scaling, over the measured baseline
        throughput / throughput_of_one AS speedup,
        throughput_lo / throughput_of_one AS speedup_lo,
        throughput_hi / throughput_of_one AS speedup_hi,
        throughput / throughput_of_one / workers AS efficiency,  -- speedup ÷ workers
        throughput_lo / throughput_of_one / workers AS efficiency_lo,
        throughput_hi / throughput_of_one / workers AS efficiency_hi,
        measured_speedup                          -- as in scaling; null if kind is predicted
    FROM both_kinds
)
SELECT * FROM final;
