-- One row per session, case, segment and law that applies to its scaling mode; at load, analysis/laws fits the law to
-- ln(throughput) of the runs in law_points, with an effect of each round. amdahl (strong): X = gamma p / (1 + alpha
-- (p - 1)). gustafson (weak): X = gamma (p - alpha (p - 1)). usl (both): X = gamma p / (1 + alpha (p - 1) + beta p
-- (p - 1)). p = n / unit_workers. Intervals are two-sided 95 % by profile likelihood; null if the law is rejected.
CREATE TABLE law_fits (
    session_id VARCHAR,
    case_name VARCHAR,
    segment VARCHAR,               -- sizes that were fitted together: all, one node, across nodes
    scaling_mode VARCHAR,          -- strong, weak
    axis VARCHAR,                  -- what the case's workers are: ranks, threads
    law VARCHAR,                   -- amdahl, gustafson, usl
    points INTEGER,                -- number of sizes in the fit
    runs INTEGER,                  -- number of runs in the fit
    parameters INTEGER,            -- number of coefficients of the law, gamma included
    smallest_workers INTEGER,      -- smallest n in the fit
    largest_workers INTEGER,       -- largest n in the fit
    unit_workers INTEGER,          -- n that corresponds to p = 1: smallest_workers for amdahl and gustafson, 1 for usl
    gamma DOUBLE,                  -- throughput at p = 1, in the unit of throughput; null without a fit
    alpha DOUBLE,                  -- serial fraction; for usl the contention
    alpha_lo DOUBLE,
    alpha_hi DOUBLE,
    beta DOUBLE,                   -- coherency; usl only
    beta_lo DOUBLE,
    beta_hi DOUBLE,
    gamma_se DOUBLE,               -- standard error by the delta method; null if a coefficient is at its bound
    alpha_se DOUBLE,               -- standard error, likewise
    beta_se DOUBLE,                -- standard error, likewise; usl only
    at_bound BOOLEAN,              -- alpha is 0 or 1, or beta is 0
    peak_workers DOUBLE,           -- n with the largest throughput by the USL; null if beta is 0
    peak_workers_lo DOUBLE,
    peak_workers_hi DOUBLE,        -- null also if there may be no peak
    limit_throughput DOUBLE,       -- throughput of infinitely many workers by Amdahl's law; null if alpha is 0
    limit_throughput_lo DOUBLE,
    limit_throughput_hi DOUBLE,    -- null also if there may be no limit
    noise DOUBLE,                  -- standard deviation of ln(throughput) of a run around the curve
    degrees INTEGER,               -- degrees of freedom of noise
    lack_of_fit_p DOUBLE,  -- p of the F test that the law holds at the measured sizes; null if no run is left for the noise
    rejected BOOLEAN,              -- whether lack_of_fit_p is below 0.05: the law does not hold, and predicts nothing
    beyond_amdahl_p DOUBLE,        -- p of the F test that beta is 0, so that Amdahl's law is enough; usl, strong only
    is_preferred BOOLEAN,  -- whether this law explains the runs better than the case's other law; false if undecided
    r2 DOUBLE,  -- 1 - residual / total sum of squares of the sizes' ln(throughput); null if it does not vary
    -- left_out_error: error at the largest size of the law fitted to the other sizes, predicted / measured - 1
    left_out_error DOUBLE,
    -- curve: throughput by the law with its interval, at the measured sizes and the next four doublings
    curve STRUCT(workers INTEGER, throughput DOUBLE, throughput_lo DOUBLE, throughput_hi DOUBLE)[],
    reason VARCHAR                 -- why there is no fit; null if there is one
);
