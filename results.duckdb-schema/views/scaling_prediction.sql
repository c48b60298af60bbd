-- One row per session, case, law and n: throughput by the law fitted to the case (law_fits), at the measured sizes and
-- at the next four doublings of the largest. Under strong scaling, there are never more ranks than examples in the
-- global batch. Interval: two-sided 95 % of the law's curve by the delta method on ln(throughput), assuming noise
-- proportional to throughput, with points - parameters degrees of freedom; null if a coefficient is at its bound. The
-- interval assumes that the law holds beyond the measured sizes, which it cannot check. The law `communication` is not
-- a fitted curve but communication_prediction; its interval is the range of the overlap.
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
-- throughput that corresponds to a speedup of 1 in this case.
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
-- gustafson multiplies by its factor, the others divide by it.
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
        -- Derivatives of ln(throughput) with respect to alpha and beta.
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
        throughput,                               -- on the law's curve, in the unit of throughput
        throughput_lo,                            -- lower end of the 95 % interval; of communication: without overlap
        throughput_hi,                            -- upper end of the 95 % interval; of communication: with full overlap
        measured_throughput,                      -- in the unit of throughput; null if kind is predicted
        relative_error,   -- of the curve compared with the measurement; null if communication starts from it
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
