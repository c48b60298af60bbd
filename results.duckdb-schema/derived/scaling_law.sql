-- One row per session, case that scales and segment: the laws fitted to its throughput over n (law_fits), side by side.
-- The serial fraction is Amdahl's under strong scaling and Gustafson's under weak scaling; the Universal Scalability
-- Law applies to both. Null if a law has too few sizes, as `reason` says. Intervals are two-sided 95 % by profile
-- likelihood; null if the law is rejected. Predictions are in scaling_prediction.
WITH suites AS (
    SELECT session_id, suite FROM sessions
),
serial AS (
    SELECT * FROM law_fits WHERE law <> 'usl'
),
universal AS (
    SELECT * FROM law_fits WHERE law = 'usl'
),
means AS (
    SELECT session_id, case_name, throughput_of_one, exp(avg(ln(throughput))) AS mean_throughput
    FROM law_points
    GROUP BY session_id, case_name, workers, throughput_of_one
),
baselines AS (
    SELECT
        session_id, case_name,
        any_value(throughput_of_one) AS throughput_of_one,
        max(mean_throughput) AS largest_throughput
    FROM means
    GROUP BY session_id, case_name
),
joined AS (
    SELECT
        serial.session_id, serial.case_name, serial.segment, serial.scaling_mode, serial.axis, serial.points,
        serial.runs, serial.smallest_workers, serial.largest_workers,
        serial.law AS serial_law,                -- amdahl, gustafson
        -- serial_fraction: relative to the smallest measured size, like karp_flatt; null below 3 sizes
        serial.alpha AS serial_fraction,
        serial.alpha_lo AS serial_fraction_lo,
        serial.alpha_hi AS serial_fraction_hi,
        serial.alpha_se AS serial_fraction_se,   -- standard error; null if the fraction is 0 or 1
        serial.lack_of_fit_p AS serial_lack_of_fit_p,  -- of Amdahl's or Gustafson's law, as in law_fits
        serial.rejected AS serial_rejected,      -- whether Amdahl's or Gustafson's law does not hold at these sizes
        serial.left_out_error AS serial_left_out_error,  -- of Amdahl's or Gustafson's law, as in law_fits
        -- If throughput falls again, the limit can be below measured values: Amdahl's law does not hold there.
        serial.limit_throughput >= largest_throughput AND NOT serial.rejected AS has_limit,
        -- speedup_limit: highest speedup by Amdahl's law; null if nothing is serial, it was exceeded, or law rejected
        CASE WHEN has_limit THEN serial.limit_throughput / throughput_of_one END AS speedup_limit,
        CASE WHEN has_limit THEN serial.limit_throughput_lo / throughput_of_one END AS speedup_limit_lo,
        -- speedup_limit_hi: null also if there may be no limit
        CASE WHEN has_limit THEN serial.limit_throughput_hi / throughput_of_one END AS speedup_limit_hi,
        universal.alpha AS usl_alpha,            -- contention; null below 4 sizes
        universal.alpha_lo AS usl_alpha_lo,
        universal.alpha_hi AS usl_alpha_hi,
        universal.alpha_se AS usl_alpha_se,      -- standard error; null if usl_at_bound
        universal.beta AS usl_beta,              -- coherency: the cost of every pair of workers
        universal.beta_lo AS usl_beta_lo,
        universal.beta_hi AS usl_beta_hi,
        universal.beta_se AS usl_beta_se,        -- standard error; null if usl_at_bound
        universal.gamma AS usl_gamma,            -- throughput of one worker, in the unit of throughput
        universal.gamma_se AS usl_gamma_se,      -- standard error; null if usl_at_bound
        universal.at_bound AS usl_at_bound,      -- alpha is 0 or 1, or beta is 0
        universal.lack_of_fit_p AS usl_lack_of_fit_p,  -- of the USL, as in law_fits
        universal.rejected AS usl_rejected,      -- whether the USL does not hold at these sizes
        universal.left_out_error AS usl_left_out_error,  -- of the USL, as in law_fits
        universal.r2,                            -- r2 of the USL's curve
        universal.beyond_amdahl_p,               -- p of the F test that the USL adds nothing to Amdahl's law
        -- preferred_law: law that explains the runs better, amdahl, gustafson or usl; null if neither or undecided
        CASE WHEN serial.is_preferred THEN serial.law WHEN universal.is_preferred THEN 'usl' END AS preferred_law,
        universal.peak_workers,                  -- n with the largest throughput by the USL; null if beta is 0
        universal.peak_workers_lo,
        universal.peak_workers_hi,               -- null also if there may be no peak
        -- reason: why a law has no fit
        nullif(concat_ws('; ', serial.law || ': ' || serial.reason, 'usl: ' || universal.reason), '') AS reason
    FROM serial
    JOIN universal USING (session_id, case_name, segment)
    JOIN baselines USING (session_id, case_name)
),
final AS (
    SELECT session_id, suite, case_name, joined.* EXCLUDE (session_id, case_name, has_limit)
    FROM joined
    JOIN suites USING (session_id)
)
SELECT * FROM final;
