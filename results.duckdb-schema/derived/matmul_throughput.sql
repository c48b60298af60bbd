-- One row per session, case, placement, precision and shape of a multiplication, over ok runs. Within a run: the median
-- over iterations of each rank, then the mean over ranks, i.e. what one device achieves while all are busy. Over
-- repeats: the geometric mean with a two-sided 95 % interval (Student's t on logarithms), null below two repeats.
WITH per_rank AS (
    SELECT session_id, run_id, attempt, precision, m, n, k, rank, median(time_ns) AS time_ns
    FROM matmuls
    GROUP BY session_id, run_id, attempt, precision, m, n, k, rank
),
per_run AS (
    SELECT session_id, run_id, attempt, precision, m, n, k, nullif(avg(time_ns), 0) AS time_ns
    FROM per_rank
    GROUP BY session_id, run_id, attempt, precision, m, n, k
),
per_placement AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, per_run.precision, m, n, k,
        any_value(suite) AS suite,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(world_size) AS world_size,
        any_value(placement_of(nodes, ranks_per_node, axis, threads)) AS placement,
        bool_or(oversubscribed) AS oversubscribed,
        count(time_ns) AS repeats,
        geometric_mean(time_ns) AS time_ns,
        variance_of_log(time_ns) AS log_variance
    FROM per_run
    JOIN last_attempts() USING (session_id, run_id, attempt)
    WHERE status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, per_run.precision, m, n, k
),
with_rates AS (
    SELECT
        *,
        2.0 * m * n * k / time_ns * 1e9 AS rate,
        exp(mean_half_width(repeats, log_variance)) AS widening
    FROM per_placement
),
final AS (
    SELECT
        session_id, suite, case_name, device_type, device_name, nodes, ranks_per_node, threads, placement, world_size,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        oversubscribed, precision, m, n, k,
        repeats,                       -- number of ok runs
        time_ns / 1e6 AS time_ms,      -- time of one multiplication
        rate AS flops_per_s,           -- per rank: 2 m n k ÷ time
        rate / widening AS flops_per_s_lo,
        rate * widening AS flops_per_s_hi
    FROM with_rates
)
SELECT * FROM final;
