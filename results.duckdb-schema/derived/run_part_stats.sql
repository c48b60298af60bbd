-- One row per attempt with measured steps: the figures from which run_parts splits a step into parts, for ranks that
-- wait for each other. It reads only the profiled rows of the table steps again.
WITH over_ranks AS (
    SELECT
        session_id, run_id, attempt,
        avg(step_ns_mean) AS step_ns_mean,
        avg(data_ns_mean) AS data_ns_mean,
        avg(forward_ns_mean) AS forward_ns_mean,
        min(forward_ns_mean) AS forward_ns_least
    FROM run_rank_stats
    WHERE measured_steps > 0
    GROUP BY session_id, run_id, attempt
),
-- A single rank never waits, so step_stats has no waits for it.
waits AS (
    SELECT
        session_id, run_id, attempt, kind,
        avg(before_wait_ns_max - before_wait_ns_max_without_data) AS data_ns_added,
        avg(before_wait_ns_max_without_data) AS before_wait_ns_most
    FROM step_stats
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    WHERE kind IN ('measured', 'profiled')
    GROUP BY session_id, run_id, attempt, kind
),
profiled_alone AS (
    SELECT DISTINCT session_id, run_id, attempt
    FROM profile
    JOIN runs USING (session_id, run_id, attempt)
    WHERE world_size = 1
),
profiled_data_of_one AS (
    SELECT session_id, run_id, attempt, avg(data_ns) AS data_ns_mean
    FROM steps
    SEMI JOIN profiled_alone USING (session_id, run_id, attempt)
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    WHERE kind = 'profiled'
    GROUP BY session_id, run_id, attempt
),
profiled_ranks AS (
    SELECT
        session_id, run_id, attempt, rank,
        avg(compute_ns) AS compute_ns_mean
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, rank
),
fastest AS (
    SELECT session_id, run_id, attempt, min(compute_ns_mean) AS compute_ns_least
    FROM profiled_ranks
    GROUP BY session_id, run_id, attempt
),
each_profiled_step AS (
    SELECT
        session_id, run_id, attempt, step,
        avg(step_ns) AS step_ns_mean,
        min(exposed_communication_ns) AS exposed_ns_least,
        max(exposed_communication_ns) AS exposed_ns_most,
        max(compute_ns) AS compute_ns_most
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, step
),
profiled AS (
    SELECT
        session_id, run_id, attempt,
        count(*) AS profiled_steps,
        avg(step_ns_mean) AS profiled_step_ns_mean,
        avg(exposed_ns_least) AS exposed_ns_least,
        avg(exposed_ns_most) AS exposed_ns_most,
        avg(compute_ns_most) AS compute_ns_most
    FROM each_profiled_step
    GROUP BY session_id, run_id, attempt
),
clocks AS (
    SELECT session_id, run_id, attempt, max(sm_clock_mhz) AS sm_clock_mhz
    FROM run_device_stats
    WHERE ranks > 0 AND sm_clock_mhz > 0
    GROUP BY session_id, run_id, attempt
),
final AS (
    SELECT
        session_id, run_id, attempt,
        step_ns_mean,  -- a rank's own step, mean over ranks and measured steps
        CASE WHEN world_size = 1 THEN over_ranks.data_ns_mean ELSE measured.data_ns_added END AS data_ns_added,
        CASE
            WHEN world_size = 1 THEN forward_ns_mean
            WHEN strategy = 'ddp' THEN measured.before_wait_ns_most
        -- forward_ns_most: forward of the rank with the longest forward in each step, mean over steps; ddp and one rank
        END AS forward_ns_most,
        forward_ns_least,  -- mean forward of the rank that has the least
        profiled_steps, profiled_step_ns_mean,
        CASE
            WHEN world_size = 1 THEN profiled_data_of_one.data_ns_mean ELSE in_profile.data_ns_added
        END AS profiled_data_ns_added,  -- data_ns_added, for the profiled steps
        exposed_ns_least, exposed_ns_most, compute_ns_most, compute_ns_least,
        sm_clock_mhz  -- mean clock in measured steps of the GPU with the highest; null on a CPU
        -- data_ns_added: delay of the last rank to wait that waiting for data causes, mean over measured steps
        -- profiled_steps: null without profiled steps, as all following columns except the clock
        -- profiled_step_ns_mean: a rank's own profiled step as the profiler saw it
        -- exposed_ns_least: exposed communication of the rank with the least in each profiled step, mean over steps
        -- exposed_ns_most: the same of the rank with the most, which waits longest for others
        -- compute_ns_most: compute of the rank with the most in each profiled step, mean over steps
        -- compute_ns_least: mean compute over profiled steps of the rank that has the least
    FROM runs
    JOIN over_ranks USING (session_id, run_id, attempt)
    LEFT JOIN (FROM waits WHERE kind = 'measured') AS measured USING (session_id, run_id, attempt)
    LEFT JOIN (FROM waits WHERE kind = 'profiled') AS in_profile USING (session_id, run_id, attempt)
    LEFT JOIN profiled_data_of_one USING (session_id, run_id, attempt)
    LEFT JOIN profiled USING (session_id, run_id, attempt)
    LEFT JOIN fastest USING (session_id, run_id, attempt)
    LEFT JOIN clocks USING (session_id, run_id, attempt)
)
SELECT * FROM final;
