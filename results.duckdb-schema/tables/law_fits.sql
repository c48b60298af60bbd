-- One row per session, case and segment: the law of its throughput over n, which analysis/laws fits at load to the runs
-- in law_points. A law is the average of three forms by their Akaike weights. Each is the time of a step, with u = n /
-- smallest_workers. Strong scaling: saturating a / u + b, log a / u + b + c log2 u, pairs a / u + b + c (u - 1). Weak:
-- saturating b + c (1 - 1 / u), log b + c log2 u, pairs b + c (u - 1). No coefficient is negative. Intervals are
-- two-sided 95 %; those of coefficients and of the peak assume that the best form is true.
CREATE TABLE law_fits (
    session_id VARCHAR,
    case_name VARCHAR,
    segment VARCHAR,               -- sizes that were fitted together: all, one node, across nodes
    scaling_mode VARCHAR,          -- strong, weak
    axis VARCHAR,                  -- what the case's workers are: ranks, threads
    points INTEGER,                -- number of sizes in the fit
    runs INTEGER,                  -- number of runs in the fit
    smallest_workers INTEGER,      -- smallest n in the fit
    largest_workers INTEGER,       -- largest n in the fit
    saturating_weight DOUBLE,      -- share of the form in the average; the three add up to 1; null without a law
    log_weight DOUBLE,             -- share of the form in the average
    pairs_weight DOUBLE,           -- share of the form in the average
    best_form VARCHAR,             -- form with the largest weight: saturating, log, pairs
    serial_fraction DOUBLE,        -- b / (a + b) of the best form; strong scaling only
    serial_fraction_lo DOUBLE,
    serial_fraction_hi DOUBLE,
    -- growth: c of the best form / its time at the smallest size; strong scaling: null if the form is saturating
    growth DOUBLE,
    growth_lo DOUBLE,
    growth_hi DOUBLE,
    peak_workers DOUBLE,           -- n with the largest throughput; null if no form with a peak has 90 %, or c is 0
    peak_workers_lo DOUBLE,
    peak_workers_hi DOUBLE,        -- null also if there may be no peak
    -- left_out_error: error at the largest size of the law fitted to the other sizes, predicted / measured - 1
    left_out_error DOUBLE,
    -- curve: throughput by the law with its interval, at the measured sizes and the next four doublings
    curve STRUCT(workers INTEGER, throughput DOUBLE, throughput_lo DOUBLE, throughput_hi DOUBLE)[],
    reason VARCHAR                 -- why there is no law; null if there is one
);
