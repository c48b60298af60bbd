-- One row per attempt with measured steps: what a step is taken apart with, of ranks that wait for each other; the view
-- run_parts makes parts of it. derived/run_part_stats.sql fills it at load.
CREATE TABLE run_part_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step_ns_mean DOUBLE,           -- of a rank's own step, mean over ranks and measured steps
    data_ns_added DOUBLE,          -- by which waiting for data puts off the last rank to wait, mean over measured steps
    forward_ns_most DOUBLE,        -- of the rank with the longest forward of each step, mean over them; ddp and one rank
    forward_ns_least DOUBLE,       -- mean forward of the rank that has the least
    profiled_steps BIGINT,         -- null without profiled steps, as all that follow but the clock
    profiled_step_ns_mean DOUBLE,  -- of a rank's own profiled step, as the profiler saw it
    profiled_data_ns_added DOUBLE, -- data_ns_added of the profiled steps
    exposed_ns_least DOUBLE,       -- exposed communication of the rank with least in each profiled step, mean over them
    compute_ns_most DOUBLE,        -- compute of the rank with most in each profiled step, mean over them
    compute_ns_least DOUBLE,       -- mean compute over profiled steps of the rank that has the least
    sm_clock_mhz DOUBLE            -- mean clock in measured steps of the GPU with the highest; null on a CPU
);
