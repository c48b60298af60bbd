-- One row per session, case and placement with a throughput: energy and GPU-hours of its measured steps. Energy is the
-- increase of the energy counters of the GPUs in use. It includes their memory, but not the rest of the machine; null
-- without such a counter. Per example: that of the median run, with a 95 % interval (`median_interval`),
-- null below three repeats.
WITH points AS (
    SELECT * FROM placements WHERE repeats > 0
),
each_run AS (
    SELECT hardware_use.*, energy_j / nullif(examples_per_step * measured_steps, 0) AS j_per_example, stops_early
    FROM hardware_use
    JOIN (SELECT session_id, run_id, attempt, stops_early FROM run_summary) AS runs USING (session_id, run_id, attempt)
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(devices) AS devices,
        count(j_per_example) AS energy_repeats,
        avg(energy_j) AS energy_j,
        avg(energy_j / nullif(span_s, 0)) AS power_w,
        median_interval(list(ln(j_per_example)) FILTER (j_per_example IS NOT NULL), any_value(stops_early))
            AS of_example
    FROM each_run
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        session_id, suite, case_name, workload, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, device_type, device_name, precision,
        energy_repeats,                -- number of ok runs whose energy is known
        devices,
        energy_j,                      -- energy of the measured steps, all GPUs together; mean over repeats
        power_w,                       -- energy ÷ time of the measured steps, all GPUs together; mean over repeats
        exp(of_example.point) AS j_per_example,  -- energy per example
        exp(of_example.lo) AS j_per_example_lo,
        exp(of_example.hi) AS j_per_example_hi,
        1 / j_per_example AS examples_per_j,  -- examples per joule of the GPUs
        1 / j_per_example_hi AS examples_per_j_lo,
        1 / j_per_example_lo AS examples_per_j_hi,
        1e6 * j_per_example AS j_per_million_examples,  -- GPU energy per million examples
        -- j_per_million_tokens: GPU energy per million tokens; null if the workload has no tokens
        1e6 * j_per_example / tokens_per_example AS j_per_million_tokens,
        -- gpu_hours_per_million_examples: devices × time; null on a CPU
        CASE WHEN device_type = 'cuda' THEN devices * 1e6 / throughput / 3600 END AS gpu_hours_per_million_examples
    FROM points
    JOIN over_repeats USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
