-- One row per session, case, placement, collective operation and message size, over ok runs, timed back to back.
-- Within a run: the mean over ranks in each iteration, as nccl-tests averages them, then the median over iterations.
-- Over repeats: the geometric mean with a two-sided 95 % interval (Student's t on logarithms), null below two repeats.
WITH iterations AS (
    SELECT session_id, run_id, attempt, op, message_bytes, iteration, avg(time_ns) AS time_ns
    FROM collectives
    WHERE computation_ns IS NULL
    GROUP BY session_id, run_id, attempt, op, message_bytes, iteration
),
per_run AS (
    SELECT session_id, run_id, attempt, op, message_bytes, nullif(median(time_ns), 0) AS time_ns
    FROM iterations
    GROUP BY session_id, run_id, attempt, op, message_bytes
),
per_placement AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, op, message_bytes,
        any_value(suite) AS suite,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(precision) AS precision,
        any_value(world_size) AS world_size,
        any_value(placement_of(nodes, ranks_per_node, axis, threads)) AS placement,
        bool_or(oversubscribed) AS oversubscribed,
        count(time_ns) AS repeats,
        geometric_mean(time_ns) AS time_ns,
        variance_of_log(time_ns) AS log_variance
    FROM per_run
    JOIN last_attempts() USING (session_id, run_id, attempt)
    WHERE status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, op, message_bytes
),
with_bandwidths AS (
    SELECT
        *,
        message_bytes / time_ns AS algorithm_gbps,
        algorithm_gbps * bus_factor_of(op, world_size) AS bus_gbps,
        exp(mean_half_width(repeats, log_variance)) AS widening
    FROM per_placement
),
final AS (
    SELECT
        session_id, suite, case_name, device_type, device_name, nodes, ranks_per_node, threads, placement, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        oversubscribed, precision, op, message_bytes,
        repeats,                              -- number of ok runs
        time_ns / 1e3 AS time_us,             -- time of one operation
        time_ns / 1e3 / widening AS time_us_lo,
        time_ns / 1e3 * widening AS time_us_hi,
        algorithm_gbps,                       -- message_bytes ÷ time, 10^9 bytes per second
        algorithm_gbps / widening AS algorithm_gbps_lo,
        algorithm_gbps * widening AS algorithm_gbps_hi,
        bus_gbps,  -- algorithm_gbps times nccl-tests' factor for the operation and the number of ranks
        bus_gbps / widening AS bus_gbps_lo,
        bus_gbps * widening AS bus_gbps_hi
    FROM with_bandwidths
)
SELECT * FROM final;
