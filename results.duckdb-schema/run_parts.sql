-- One row per ok run and way of knowing: the mean step of a rank taken apart, in the order in which its parts are
-- taken off, none below 0, so that they add up to it and overlaps are counted once. `profiled`: compute and exposed
-- communication of the profiled steps, in which the profiler slows everything, as shares of what they take beyond
-- waiting for data. `one rank`: nothing is waited for or sent, all but data is computation. `estimated` (ddp): as
-- backward alone communicates, computation is forward × (1 + backward ÷ forward of the baseline's one rank), and
-- optimizer; communication is what is left. And of every run one row without known_by, of its step and data alone.
CREATE OR REPLACE VIEW run_parts AS
WITH ok_runs AS (
    SELECT
        session_id, run_id, attempt, case_name, strategy, world_size, nodes, ranks_per_node, threads,
        forward_ms, backward_ms, optimizer_ms
    FROM run_summary
    WHERE status = 'ok' AND throughput IS NOT NULL
),
measured AS (
    SELECT
        ok_runs.*,
        step_ns_mean / 1e6 AS step_ms,
        least(data_ns_added / 1e6, step_ms) AS data_ms,
        step_ms - data_ms AS beyond_data_ms,
        forward_ns_most / 1e6 AS forward_ms_most,
        forward_ns_least / 1e6 AS forward_ms_least,
        -- what a ns under the profiler is without it; where the data of profiled steps is not known, by whole steps
        CASE
            WHEN profiled_data_ns_added IS NULL THEN step_ms / nullif(profiled_step_ns_mean, 0)
            WHEN profiled_step_ns_mean > profiled_data_ns_added
            THEN beyond_data_ms / (profiled_step_ns_mean - profiled_data_ns_added)
        END AS ms_per_profiled_ns,
        exposed_ns_least, compute_ns_most, compute_ns_least, sm_clock_mhz
    FROM ok_runs
    JOIN run_part_stats USING (session_id, run_id, attempt)
),
baselines AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        baseline_case, baseline_nodes, baseline_ranks_per_node, baseline_threads
    FROM scaling
    WHERE strategy = 'ddp' AND world_size > 1
),
-- Only of one rank, since those of several have waited and sent.
backwards AS (
    SELECT
        session_id AS baseline_session_id, case_name AS baseline_case, nodes AS baseline_nodes,
        ranks_per_node AS baseline_ranks_per_node, threads AS baseline_threads,
        avg(backward_ms) / nullif(avg(forward_ms), 0) AS backward_to_forward
    FROM measured
    WHERE world_size = 1
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
with_backward AS (
    SELECT measured.*, backward_to_forward
    FROM measured
    LEFT JOIN baselines USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN backwards
        ON baseline_session_id = measured.session_id AND backwards.baseline_case = baselines.baseline_case
        AND backwards.baseline_nodes = baselines.baseline_nodes
        AND backwards.baseline_ranks_per_node = baselines.baseline_ranks_per_node
        AND backwards.baseline_threads = baselines.baseline_threads
),
-- Null communication: what the rest leaves over.
raw AS (
    SELECT
        *, 'profiled' AS known_by,
        (compute_ns_most - compute_ns_least) * ms_per_profiled_ns AS raw_imbalance_ms,
        exposed_ns_least * ms_per_profiled_ns AS raw_communication_ms,
        compute_ns_least * ms_per_profiled_ns AS raw_computation_ms
    FROM with_backward
    WHERE raw_computation_ms IS NOT NULL AND beyond_data_ms IS NOT NULL
    UNION ALL
    SELECT *, 'one rank', 0, 0, step_ms
    FROM with_backward
    WHERE world_size = 1
    UNION ALL
    SELECT
        *, 'estimated',
        (1 + backward_to_forward) * (forward_ms_most - forward_ms_least),
        NULL,
        (1 + backward_to_forward) * forward_ms_least + optimizer_ms
    FROM with_backward
    WHERE backward_to_forward IS NOT NULL AND forward_ms_most IS NOT NULL
    UNION ALL
    SELECT *, NULL, NULL, NULL, NULL FROM with_backward
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads,
        known_by,                    -- profiled, one rank, estimated; null: communication is not known
        step_ms,                     -- of a rank, the mean over ranks and measured steps; the parts add up to it
        -- data_ms: by which waiting for data puts off the rank that the others wait for
        data_ms,
        -- imbalance_ms: computation of the rank with most in each step, beyond computation_ms
        least(greatest(raw_imbalance_ms, 0), beyond_data_ms) AS imbalance_ms,
        -- communication_ms: exposed, of the rank that waits least for others
        CASE
            WHEN known_by = 'estimated' THEN greatest(beyond_data_ms - imbalance_ms - raw_computation_ms, 0)
            ELSE least(raw_communication_ms, beyond_data_ms - imbalance_ms)
        END AS communication_ms,
        -- computation_ms: of the rank that computes least
        least(raw_computation_ms, beyond_data_ms - imbalance_ms - communication_ms) AS computation_ms,
        -- other_ms: neither, such as Python, launches and copies; 0 where it cannot be told from computation
        beyond_data_ms - imbalance_ms - communication_ms - computation_ms AS other_ms,
        sm_clock_mhz                 -- mean in measured steps of the GPU with the highest; null on a CPU
    FROM raw
)
SELECT * FROM final;
