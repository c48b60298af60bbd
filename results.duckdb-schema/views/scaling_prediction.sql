-- One row per session, case, law and n: throughput by the law fitted to the case (law_fits), at the measured sizes and,
-- unless the runs reject the law, at the next four doublings of the largest. Under strong scaling, there are never more
-- ranks than examples in the global batch. Serial laws do not exceed the efficiency of the largest measured size.
-- Interval: two-sided 95 % of the law's curve by profile likelihood; null if the law is rejected. The interval assumes
-- that the law holds beyond the measured sizes, which it cannot check. The law `communication` is not a fitted curve
-- but communication_prediction; its interval is the range of the overlap.
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
        exp(avg(ln(throughput))) AS measured_throughput
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
    SELECT session_id, case_name, scaling_mode, axis, segment, law, largest_workers, left_out_error,
        unnest(curve) AS point
    FROM fits
),
values_of_sizes AS (
    SELECT * EXCLUDE point, unnest(point) FROM curves
),
fitted AS (
    SELECT
        session_id, suite, case_name, scaling_mode, axis, segment, law, workers,
        if(workers > largest_workers, 'predicted', 'measured') AS kind,
        throughput, throughput_lo, throughput_hi,
        measured_throughput,
        throughput_of_one,
        throughput / measured_throughput - 1 AS relative_error,
        left_out_error
    FROM values_of_sizes
    JOIN suites USING (session_id)
    JOIN cases USING (session_id, case_name)
    LEFT JOIN points USING (session_id, case_name, workers)
    WHERE kind = 'measured' OR scaling_mode = 'weak' OR axis = 'threads' OR workers <= coalesce(global_batch, workers)
),
both_kinds AS (
    SELECT * FROM fitted
    UNION ALL BY NAME
    SELECT
        session_id, suite, case_name, scaling_mode, axis, 'communication' AS law, kind, workers, measured_throughput,
        throughput_of_one, throughput, throughput_lo, throughput_hi, relative_error
    FROM communication_prediction
    WHERE has_fewest_nodes
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, axis,
        law,                                      -- amdahl, gustafson, usl, communication
        kind,                                     -- measured, predicted
        workers,
        throughput,                               -- on the law's curve, in the unit of throughput
        throughput_lo,                            -- lower end of the 95 % interval; of communication: without overlap
        throughput_hi,                            -- upper end of the 95 % interval; of communication: with full overlap
        measured_throughput,                      -- in the unit of throughput; null if kind is predicted
        relative_error,   -- of the curve compared with the measurement; null if communication starts from it
        -- left_out_error: error of the law at the largest measured size, if it is fitted to the other sizes
        left_out_error,
        -- segment: sizes that were fitted together: all, one node, across nodes; null for communication
        segment,
        -- speedup: as in scaling, over the measured baseline
        throughput / throughput_of_one AS speedup,
        throughput_lo / throughput_of_one AS speedup_lo,
        throughput_hi / throughput_of_one AS speedup_hi,
        speedup / workers AS efficiency,          -- speedup ÷ workers
        speedup_lo / workers AS efficiency_lo,
        speedup_hi / workers AS efficiency_hi,
        measured_throughput / throughput_of_one AS measured_speedup  -- null if kind is predicted
    FROM both_kinds
)
SELECT * FROM final;
