-- One row per attempt that completed a step; derived/run_stats.sql fills it at load.
CREATE TABLE run_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    ranks INTEGER,                 -- that completed a step
    measured_steps INTEGER,        -- smallest count over ranks
    span_ns BIGINT,                -- the longest rank's own span over measured steps, validations left out
    step_ns_median BIGINT,         -- quantiles are values that were measured
    step_ns_median_lo BIGINT,      -- 95 % interval by order statistics, of this run's steps; null below six
    step_ns_median_hi BIGINT,      -- its upper end
    step_ns_p95 BIGINT,            -- 95th percentile, nearest value
    step_ns_p99 BIGINT,            -- 99th percentile, nearest value
    step_ns_mean DOUBLE,           -- of the step time over all ranks
    step_ns_std DOUBLE,            -- sample standard deviation; null below two steps
    step_ns_min BIGINT,            -- shortest measured step
    step_ns_max BIGINT,            -- longest measured step
    step_ns_mean_first_half DOUBLE, -- of the measured steps; of an odd number of them the shorter half
    step_ns_mean_second_half DOUBLE, -- likewise: where the two differ, step times drift
    data_ns_mean DOUBLE,           -- mean over steps and ranks
    forward_ns_mean DOUBLE,        -- mean over steps and ranks
    backward_ns_mean DOUBLE,       -- mean over steps and ranks
    optimizer_ns_mean DOUBLE,      -- mean over steps and ranks
    max_minus_median_ns_mean DOUBLE, -- over measured steps: last rank to wait minus median rank, see step_stats
    first_loss DOUBLE,             -- of step 0, warm-up included
    mean_loss DOUBLE,              -- over measured steps; null where one was not finite
    final_loss DOUBLE,             -- of the last measured step
    nonfinite_losses BIGINT,       -- losses of single ranks that were NaN or infinite, over all steps, warm-up included
    memory_allocated_bytes_peak BIGINT, -- largest over ranks
    memory_reserved_bytes_peak BIGINT, -- largest over ranks
    memory_allocated_bytes_mean DOUBLE, -- over ranks and measured steps
    memory_reserved_bytes_mean DOUBLE -- over ranks and measured steps
);
