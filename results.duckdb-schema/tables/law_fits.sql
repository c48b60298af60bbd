-- One row per session, case and law that applies to its mode; analysis/laws fits it at load to the rows of law_points.
-- amdahl (strong): X = gamma p / (1 + alpha (p - 1)). gustafson (weak): X = gamma (p - alpha (p - 1)).
-- usl (both): X = gamma p / (1 + alpha (p - 1) + beta p (p - 1)). p = n / unit_workers.
CREATE TABLE law_fits (
    session_id VARCHAR,
    case_name VARCHAR,
    scaling VARCHAR,               -- strong, weak
    axis VARCHAR,                  -- of the case's workers: ranks, threads
    law VARCHAR,                   -- amdahl, gustafson, usl
    points INTEGER,                -- sizes that it was fitted to
    parameters INTEGER,            -- of the law, gamma included
    smallest_workers INTEGER,      -- n of the smallest of these sizes
    largest_workers INTEGER,       -- n of the largest
    unit_workers INTEGER,          -- n that counts as p = 1: smallest_workers for amdahl and gustafson, 1 for usl
    gamma DOUBLE,                  -- throughput at p = 1, in the unit of throughput; null where there is no fit
    alpha DOUBLE,                  -- serial fraction; for usl the contention
    beta DOUBLE,                   -- coherency; usl only
    gamma_se DOUBLE,               -- standard error, for noise of the same size at every n, as R's `usl` has it
    alpha_se DOUBLE,               -- standard error, likewise
    beta_se DOUBLE,                -- standard error, likewise; usl only
    log_gamma_variance DOUBLE,     -- of ln(gamma), for noise in proportion to throughput, like those below
    alpha_variance DOUBLE,         -- of the estimate
    beta_variance DOUBLE,          -- of the estimate; usl only
    log_gamma_alpha_covariance DOUBLE, -- of ln(gamma) and alpha
    log_gamma_beta_covariance DOUBLE, -- of ln(gamma) and beta; usl only
    alpha_beta_covariance DOUBLE,  -- of the two estimates; usl only
    at_bound BOOLEAN,              -- alpha is 0 or 1, or beta is 0: errors and variances are a hint, no more
    r2 DOUBLE,                     -- 1 - residual / total sum of squares of throughput; null where that does not vary
    reason VARCHAR                 -- why there is no fit; null where there is one
);
