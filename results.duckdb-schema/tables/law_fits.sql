-- One row per session, case and law that applies to its scaling mode; at load, analysis/laws fits the law to the rows
-- of law_points. amdahl (strong): X = gamma p / (1 + alpha (p - 1)). gustafson (weak): X = gamma (p - alpha (p - 1)).
-- usl (both): X = gamma p / (1 + alpha (p - 1) + beta p (p - 1)). p = n / unit_workers.
CREATE TABLE law_fits (
    session_id VARCHAR,
    case_name VARCHAR,
    scaling VARCHAR,               -- strong, weak
    axis VARCHAR,                  -- what the case's workers are: ranks, threads
    law VARCHAR,                   -- amdahl, gustafson, usl
    points INTEGER,                -- number of sizes in the fit
    parameters INTEGER,            -- number of coefficients of the law, gamma included
    smallest_workers INTEGER,      -- smallest n in the fit
    largest_workers INTEGER,       -- largest n in the fit
    unit_workers INTEGER,          -- n that corresponds to p = 1: smallest_workers for amdahl and gustafson, 1 for usl
    gamma DOUBLE,                  -- throughput at p = 1, in the unit of throughput; null without a fit
    alpha DOUBLE,                  -- serial fraction; for usl the contention
    beta DOUBLE,                   -- coherency; usl only
    gamma_se DOUBLE,               -- standard error, assuming equal noise at every n, as in R's `usl`
    alpha_se DOUBLE,               -- standard error, likewise
    beta_se DOUBLE,                -- standard error, likewise; usl only
    -- log_gamma_variance: variance of ln(gamma), assuming noise proportional to throughput, as all columns below
    log_gamma_variance DOUBLE,
    alpha_variance DOUBLE,         -- variance of alpha
    beta_variance DOUBLE,          -- variance of beta; usl only
    log_gamma_alpha_covariance DOUBLE, -- covariance of ln(gamma) and alpha
    log_gamma_beta_covariance DOUBLE, -- covariance of ln(gamma) and beta; usl only
    alpha_beta_covariance DOUBLE,  -- covariance of alpha and beta; usl only
    at_bound BOOLEAN,              -- alpha is 0 or 1, or beta is 0: errors and variances are only indicative
    r2 DOUBLE,  -- 1 - residual / total sum of squares of throughput; null if throughput does not vary
    reason VARCHAR                 -- why there is no fit; null if there is one
);
