-- One row per case and placement of a session: the time and energy to process the given number of examples, without
-- start-up, at the measured throughput and energy per example. Intervals come from this session's repeats.
CREATE OR REPLACE MACRO time_to(session, examples) AS TABLE
WITH sizes AS (
    SELECT * FROM scaling
    WHERE session_id = session AND throughput > 0 AND throughput_unit = 'examples/s'
),
final AS (
    SELECT
        session_id, case_name, workers, nodes, ranks_per_node, threads, placement,
        examples / throughput / 3600 AS hours,  -- examples ÷ throughput
        examples / throughput_hi / 3600 AS hours_lo,
        examples / throughput_lo / 3600 AS hours_hi,
        -- gpu_hours: hours × GPUs; null on a CPU
        CASE WHEN energy.device_type = 'cuda' THEN hours * devices END AS gpu_hours,
        CASE WHEN energy.device_type = 'cuda' THEN hours_lo * devices END AS gpu_hours_lo,
        CASE WHEN energy.device_type = 'cuda' THEN hours_hi * devices END AS gpu_hours_hi,
        examples * j_per_example AS energy_j,    -- energy of the GPUs; null without a counter
        examples * j_per_example_lo AS energy_j_lo,
        examples * j_per_example_hi AS energy_j_hi
    FROM sizes
    LEFT JOIN energy USING (session_id, case_name, nodes, ranks_per_node, threads, placement, workers)
)
SELECT * FROM final ORDER BY case_name, workers, nodes;
