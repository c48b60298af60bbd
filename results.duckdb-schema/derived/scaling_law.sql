-- One row per session and case that scales: the laws fitted to its throughput over n (law_fits), side by side. The
-- serial fraction is Amdahl's under strong scaling and Gustafson's under weak scaling; the Universal Scalability Law
-- applies to both. Null if a law has too few sizes, as `reason` says. Predictions are in scaling_prediction.
WITH suites AS (
    SELECT session_id, suite FROM sessions
),
fits AS (
    SELECT * FROM law_fits
),
-- throughput that corresponds to a speedup of 1 in this case.
baselines AS (
    SELECT
        session_id, case_name,
        any_value(mean_throughput / speedup) AS throughput_of_one,
        max(speedup) AS largest_speedup
    FROM law_points
    GROUP BY session_id, case_name
),
by_case AS (
    SELECT
        session_id, case_name, scaling, axis,
        any_value(points) AS points,
        any_value(smallest_workers) AS smallest_workers,
        any_value(largest_workers) AS largest_workers,
        any_value(law) FILTER (law <> 'usl') AS serial_law,  -- amdahl, gustafson
        -- serial_fraction: relative to the smallest measured size, like karp_flatt; null below 3 sizes
        any_value(alpha) FILTER (law <> 'usl') AS serial_fraction,
        any_value(alpha_se) FILTER (law <> 'usl') AS serial_fraction_se,  -- standard error, as in R's `usl`
        any_value(r2) FILTER (law <> 'usl') AS serial_r2,  -- r2 of Amdahl's or Gustafson's curve
        any_value(gamma / nullif(alpha, 0)) FILTER (law = 'amdahl') AS throughput_limit,
        any_value(sqrt(greatest(
            log_gamma_variance + alpha_variance / alpha ** 2 - 2 * log_gamma_alpha_covariance / alpha, 0
        ))) FILTER (law = 'amdahl' AND NOT at_bound) AS log_limit_se,
        any_value(alpha) FILTER (law = 'usl') AS usl_alpha,  -- contention; null below 4 sizes
        any_value(alpha_se) FILTER (law = 'usl') AS usl_alpha_se,  -- standard error, as in R's `usl`
        any_value(beta) FILTER (law = 'usl') AS usl_beta,  -- coherency: the cost of every pair of workers
        any_value(beta_se) FILTER (law = 'usl') AS usl_beta_se,  -- standard error, as in R's `usl`
        any_value(gamma) FILTER (law = 'usl') AS usl_gamma,  -- throughput of one worker, in the unit of throughput
        any_value(gamma_se) FILTER (law = 'usl') AS usl_gamma_se,  -- standard error, likewise
        any_value(alpha_variance) FILTER (law = 'usl') AS alpha_variance,
        any_value(beta_variance) FILTER (law = 'usl') AS beta_variance,
        any_value(alpha_beta_covariance) FILTER (law = 'usl') AS alpha_beta_covariance,
        any_value(r2) FILTER (law = 'usl') AS r2,  -- r2 of the USL's curve
        any_value(at_bound) FILTER (law = 'usl') AS usl_at_bound,  -- alpha is 0 or 1, or beta is 0
        string_agg(law || ': ' || reason, '; ' ORDER BY law) AS reason  -- why a law has no fit
    FROM fits
    GROUP BY session_id, case_name, scaling, axis
),
peaks AS (
    SELECT
        *,
        -- Below one worker means that the second one already reduces throughput.
        CASE WHEN usl_beta > 0 THEN greatest(sqrt((1 - usl_alpha) / usl_beta), 1) END AS peak_workers,
        CASE
            WHEN usl_beta > 0 AND NOT usl_at_bound AND alpha_variance IS NOT NULL
            THEN sqrt(greatest(
                alpha_variance / (1 - usl_alpha) ** 2 + beta_variance / usl_beta ** 2
                    + 2 * alpha_beta_covariance / ((1 - usl_alpha) * usl_beta),
                0
            )) / 2
        END AS log_peak_se
    FROM by_case
),
final AS (
    SELECT
        session_id, suite, case_name, scaling, axis, points, smallest_workers, largest_workers,
        serial_law, serial_fraction, serial_fraction_se, serial_r2,
        -- If throughput falls again, the limit can lie below measured values: Amdahl's law does not hold there.
        -- speedup_limit: upper limit on the speedup by Amdahl's law; null if nothing is serial, or if it was exceeded
        CASE
            WHEN throughput_limit / throughput_of_one >= largest_speedup THEN throughput_limit / throughput_of_one
        END AS speedup_limit,
        -- speedup_limit_lo: 95 % interval by the delta method on its logarithm; null if a coefficient is at its bound
        speedup_limit * exp(-t_quantile((points - 2)::DOUBLE) * log_limit_se) AS speedup_limit_lo,
        speedup_limit * exp(t_quantile((points - 2)::DOUBLE) * log_limit_se) AS speedup_limit_hi,
        usl_alpha, usl_alpha_se, usl_beta, usl_beta_se, usl_gamma, usl_gamma_se, usl_at_bound, r2,
        peak_workers,  -- n with the largest throughput by the USL: sqrt((1 - alpha) / beta); null if beta is 0
        -- peak_workers_lo: 95 % interval by the delta method on its logarithm; null if a coefficient is at its bound
        CASE
            WHEN log_peak_se IS NOT NULL
            THEN greatest(peak_workers * exp(-t_quantile((points - 3)::DOUBLE) * log_peak_se), 1)
        END AS peak_workers_lo,
        peak_workers * exp(t_quantile((points - 3)::DOUBLE) * log_peak_se) AS peak_workers_hi,
        -- peak_throughput: throughput of the USL at that n, in the unit of throughput
        usl_gamma * peak_workers
            / (1 + usl_alpha * (peak_workers - 1) + usl_beta * peak_workers * (peak_workers - 1)) AS peak_throughput,
        reason
    FROM peaks
    JOIN suites USING (session_id)
    JOIN baselines USING (session_id, case_name)
)
SELECT * FROM final;
