-- One row per session, case, law and n: what the law fitted to the case (law_fits) says at the sizes that were measured
-- and at the next four doublings of the largest. Under strong scaling none has more ranks than the global batch has
-- examples. Interval: two-sided 95 % of the law's curve by the delta method on ln(throughput), for noise in proportion
-- to throughput, points - parameters degrees of freedom; null where a coefficient lies on its bound. It supposes that
-- the law holds beyond what was measured, which no interval can contain.
-- The law `communication` is no fitted curve but communication_prediction, whose interval is what overlaps.
CREATE OR REPLACE VIEW scaling_prediction AS
WITH fits AS (
    SELECT * FROM law_fits WHERE gamma IS NOT NULL
),
points AS (
    SELECT * FROM law_points
),
suites AS (
    SELECT session_id, suite FROM sessions
),
-- throughput_of_one: the throughput of which every speedup of the case is a multiple.
cases AS (
    SELECT
        session_id, case_name, scaling, axis,
        max(workers) AS largest,
        any_value(global_batch) AS global_batch,
        any_value(mean_throughput / speedup) AS throughput_of_one
    FROM points
    GROUP BY session_id, case_name, scaling, axis
),
doublings AS (
    SELECT *, largest * unnest([2, 4, 8, 16]) AS workers FROM cases
),
sizes AS (
    SELECT session_id, case_name, workers, 'measured' AS kind, mean_throughput AS measured_throughput
    FROM points
    UNION ALL
    SELECT session_id, case_name, workers, 'predicted' AS kind, NULL
    FROM doublings
    WHERE scaling = 'weak' OR axis = 'threads' OR workers <= coalesce(global_batch, workers)
),
relative AS (
    SELECT
        *,
        workers / unit_workers AS p
    FROM fits
    JOIN suites USING (session_id)
    JOIN cases USING (session_id, case_name, scaling, axis)
    JOIN sizes USING (session_id, case_name)
),
-- gustafson multiplies with its part, the others divide by it.
curves AS (
    SELECT
        *,
        CASE
            WHEN law = 'gustafson' THEN p - alpha * (p - 1)
            ELSE 1 + alpha * (p - 1) + coalesce(beta, 0) * p * (p - 1)
        END AS part
    FROM relative
),
with_slopes AS (
    SELECT
        *,
        gamma * CASE WHEN law = 'gustafson' THEN part ELSE p / part END AS throughput,
        -- Of ln(throughput) in alpha and in beta.
        -(p - 1) / part AS alpha_slope,
        CASE WHEN law = 'usl' THEN -p * (p - 1) / part ELSE 0 END AS beta_slope
    FROM curves
),
with_errors AS (
    SELECT
        *,
        sqrt(greatest(
            log_gamma_variance + alpha_slope ** 2 * alpha_variance + beta_slope ** 2 * coalesce(beta_variance, 0)
                + 2 * alpha_slope * log_gamma_alpha_covariance
                + 2 * beta_slope * coalesce(log_gamma_beta_covariance, 0)
                + 2 * alpha_slope * beta_slope * coalesce(alpha_beta_covariance, 0),
            0
        )) AS log_se
    FROM with_slopes
),
with_t AS (
    SELECT
        *,
        CASE
            WHEN NOT at_bound AND alpha_variance IS NOT NULL
            THEN t_quantile((points - parameters)::DOUBLE) * log_se
        END AS half_width
    FROM with_errors
),
both_kinds AS (
    SELECT
        session_id, suite, case_name, scaling, axis, law, kind, workers, measured_throughput, throughput_of_one,
        throughput,
        throughput * exp(-half_width) AS throughput_lo,
        throughput * exp(half_width) AS throughput_hi,
        throughput / measured_throughput - 1 AS relative_error
    FROM with_t
    UNION ALL
    SELECT
        session_id, suite, case_name, scaling, axis, 'communication', kind, workers, measured_throughput,
        throughput_of_one, throughput, throughput_lo, throughput_hi, relative_error
    FROM communication_prediction
    WHERE stands_for_n
),
final AS (
    SELECT
        session_id, suite, case_name, scaling, axis,
        law,                                      -- amdahl, gustafson, usl, communication
        kind,                                     -- measured, predicted
        workers,
        throughput,                               -- of the law's curve, in the unit of throughput
        throughput_lo,
        throughput_hi,
        measured_throughput,                      -- in the unit of throughput; null where kind is predicted
        relative_error,   -- of the curve, against what was measured; null where communication starts from that
        -- speedup: as in scaling, over the measured baseline
        throughput / throughput_of_one AS speedup,
        throughput_lo / throughput_of_one AS speedup_lo,
        throughput_hi / throughput_of_one AS speedup_hi,
        speedup / workers AS efficiency,          -- speedup ÷ workers
        speedup_lo / workers AS efficiency_lo,
        speedup_hi / workers AS efficiency_hi,
        measured_throughput / throughput_of_one AS measured_speedup  -- null where kind is predicted
    FROM both_kinds
)
SELECT * FROM final;
