-- One row per session, placement and timed collective operation, back to back or after computation: its latency and
-- bandwidth, from a straight line through its times over message size, by least squares of relative errors. time =
-- latency_s + bus_factor_of(op, world_size) x message_bytes / bus_bytes_per_s. The two unknowns solve the weighted
-- normal equations, with 1 ÷ time² as the weight of a size. A negative intercept or slope is set to 0. Times back to
-- back are those in collective_bandwidth. After computation, a run's time is the mean over ranks and iterations: a step
-- waits for slow messages, too.
WITH iterations AS (
    SELECT
        session_id, run_id, op, message_bytes, device_type, device_name, nodes, ranks_per_node, world_size, iteration,
        computation_ns IS NOT NULL AS after_computation,
        avg(time_ns) / 1e9 AS time_s,
        avg(cpu_ns) / 1e9 AS cpu_s
    FROM collectives
    JOIN last_attempts() USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND oversubscribed IS NOT TRUE AND world_size > 1
        AND bus_factor_of(op, world_size) IS NOT NULL
    GROUP BY ALL
),
times AS (
    SELECT
        session_id, run_id, op, after_computation, message_bytes, device_type, device_name,
        nodes, ranks_per_node, world_size,
        nullif(if(bool_or(after_computation), avg(time_s), median(time_s)), 0) AS time_s,
        avg(cpu_s) / avg(time_s) AS cpu_cores
    FROM iterations
    GROUP BY ALL
),
sizes AS (
    SELECT
        session_id, device_type, device_name, nodes, ranks_per_node, world_size, op, after_computation, message_bytes,
        bus_factor_of(op, world_size) * message_bytes AS bus_bytes,
        geometric_mean(time_s) AS t,
        avg(cpu_cores) AS cpu_cores
    FROM times
    WHERE time_s > 0
    GROUP BY ALL
),
sums AS (
    SELECT
        session_id, device_type, device_name, nodes, ranks_per_node, world_size, op, after_computation,
        count(*)::INTEGER AS points,
        list({'bus_bytes': bus_bytes, 't': t}) AS found,
        sum(cpu_cores * t) / sum(t) AS cpu_cores,
        sum(1 / t ** 2) AS w,
        sum(bus_bytes / t ** 2) AS wx,
        sum((bus_bytes / t) ** 2) AS wxx,
        sum(1 / t) AS wy,
        sum(bus_bytes / t) AS wxy
    FROM sizes
    GROUP BY ALL
),
free AS (
    SELECT
        *,
        w * wxx - wx ** 2 AS determinant,
        (w * wxy - wx * wy) / determinant AS free_slope,
        (wxx * wy - wx * wxy) / determinant AS free_latency_s
    FROM sums
),
lines AS (
    SELECT
        *,
        CASE
            WHEN points < 3 THEN NULL
            WHEN free_slope <= 0 THEN wy / w
            ELSE greatest(free_latency_s, 0)
        END AS latency_s,
        CASE
            WHEN points < 3 THEN NULL
            WHEN free_slope <= 0 THEN 0
            WHEN free_latency_s < 0 THEN wxy / wxx
            ELSE free_slope
        END AS s_per_bus_byte
    FROM free
),
final AS (
    SELECT
        session_id, device_type, device_name, nodes, ranks_per_node, world_size, op,
        after_computation,  -- whether each rank computed before each operation; only on CPUs of one node
        points, latency_s,
        1 / nullif(s_per_bus_byte, 0) AS bus_bytes_per_s,
        sqrt(list_avg([((latency_s + s_per_bus_byte * size.bus_bytes) / size.t - 1) ** 2 FOR size IN found]))
            AS relative_error,  -- root mean square of line ÷ time - 1; large if time is not linear in size
        -- cpu_cores: CPU cores that a rank keeps busy meanwhile, over all sizes; null on a GPU, or if not measured
        CASE WHEN device_type = 'cpu' THEN cpu_cores END AS cpu_cores
        -- device_type: cpu, cuda
        -- device_name: as reported by CUDA or the kernel
        -- nodes: number of nodes used
        -- ranks_per_node: ranks per node, the same on every node
        -- world_size: number of ranks
        -- op: all_reduce, all_gather, reduce_scatter, broadcast
        -- points: number of message sizes
        -- latency_s: time of an operation without bytes; null below 3 sizes
        -- bus_bytes_per_s: bus bandwidth; null below 3 sizes, or if time does not grow with bytes
    FROM lines
)
SELECT * FROM final;
