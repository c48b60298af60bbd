-- One row per ok run and way of knowing: the mean step of a rank taken apart, in the order in which its parts are
-- taken off, none below 0, so that they add up to it and overlaps are counted once. `profiled`: compute and exposed
-- communication of the profiled steps, in which the profiler slows everything, as shares of what they take beyond
-- waiting for data. `one rank`: nothing is waited for or sent, all but data is computation. `estimated` (ddp, where
-- backward alone communicates): computation of backward is forward's × that ratio of the baseline's one rank;
-- communication is what is left. And of every run one row without known_by, of its step and data alone.
WITH ok_runs AS (
    SELECT
        session_id, run_id, attempt, case_name, baseline, strategy, workers, world_size, nodes, ranks_per_node, threads,
        forward_ms, backward_ms, optimizer_ms
    FROM run_summary
    WHERE status = 'ok' AND throughput IS NOT NULL
),
measured AS (
    SELECT
        ok_runs.*,
        step_ns_mean / 1e6 AS step_ms,
        CASE WHEN data_ns_added IS NOT NULL THEN least(data_ns_added / 1e6, step_ms) END AS data_ms,
        step_ms - coalesce(data_ms, 0) AS beyond_data_ms,
        forward_ns_most / 1e6 AS forward_ms_most,
        forward_ns_least / 1e6 AS forward_ms_least,
        -- what a ns under the profiler is without it; where the data of profiled steps is not known, by whole steps
        CASE
            WHEN data_ms IS NULL OR profiled_data_ns_added IS NULL THEN step_ms / nullif(profiled_step_ns_mean, 0)
            WHEN profiled_step_ns_mean > profiled_data_ns_added
            THEN beyond_data_ms / (profiled_step_ns_mean - profiled_data_ns_added)
        END AS ms_per_profiled_ns,
        exposed_ns_least, compute_ns_most, compute_ns_least, sm_clock_mhz
    FROM ok_runs
    JOIN run_part_stats USING (session_id, run_id, attempt)
),
-- Of the placement that scaling takes for the case's baseline, where that is one rank: phases of several ranks
-- contain their waiting and sending.
backwards AS (
    SELECT
        session_id AS baseline_session_id, case_name AS baseline_case, world_size AS baseline_world_size,
        avg(backward_ms) / nullif(avg(forward_ms), 0) AS backward_to_forward
    FROM measured
    GROUP BY session_id, case_name, workers, world_size, nodes, ranks_per_node, threads
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY workers, nodes, ranks_per_node, threads
    ) = 1
),
with_backward AS (
    SELECT measured.*, backward_to_forward
    FROM measured
    LEFT JOIN backwards
        ON strategy = 'ddp' AND world_size > 1 AND baseline_world_size = 1
        AND baseline_session_id = session_id AND baseline_case = coalesce(baseline, case_name)
),
-- What the rank with the longest forward has left for backward: its own computation first, then what it computes more
-- than others there, as in forward; communication gets what neither takes.
with_room AS (
    SELECT
        *,
        forward_ms_most - forward_ms_least AS forward_imbalance_ms,
        greatest(beyond_data_ms - forward_ms_most - optimizer_ms, 0) AS room_ms,
        least(backward_to_forward * forward_ms_least, room_ms) AS backward_computation_ms
    FROM with_backward
),
raw AS (
    -- A rank can be slow in what is no operator or kernel: then forward shows it, where that waits for none.
    SELECT
        *, 'profiled' AS known_by,
        greatest((compute_ns_most - compute_ns_least) * ms_per_profiled_ns, forward_imbalance_ms) AS raw_imbalance_ms,
        exposed_ns_least * ms_per_profiled_ns AS raw_communication_ms,
        compute_ns_least * ms_per_profiled_ns AS raw_computation_ms
    FROM with_room
    WHERE raw_computation_ms IS NOT NULL
    UNION ALL
    SELECT *, 'one rank', 0, 0, beyond_data_ms
    FROM with_room
    WHERE world_size = 1
    UNION ALL
    SELECT
        *, 'estimated',
        forward_imbalance_ms
            + least(backward_to_forward * forward_imbalance_ms, room_ms - backward_computation_ms),
        NULL,
        forward_ms_least + backward_computation_ms + optimizer_ms
    FROM with_room
    WHERE backward_to_forward IS NOT NULL AND forward_ms_most IS NOT NULL
),
taken_off AS (
    SELECT
        *,
        least(greatest(raw_imbalance_ms, 0), beyond_data_ms) AS imbalance_ms,
        CASE
            WHEN known_by = 'estimated' THEN greatest(beyond_data_ms - imbalance_ms - raw_computation_ms, 0)
            ELSE least(raw_communication_ms, beyond_data_ms - imbalance_ms)
        END AS communication_ms,
        least(raw_computation_ms, beyond_data_ms - imbalance_ms - communication_ms) AS computation_ms
    FROM raw
    UNION ALL BY NAME
    SELECT * FROM measured
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads,
        known_by,                    -- profiled, one rank, estimated; null: communication is not known
        step_ms,                     -- of a rank, the mean over ranks and measured steps; the parts add up to it
        data_ms,                     -- by which waiting for data puts off the rank that the others wait for
        imbalance_ms,                -- computation of the rank with most in each step, beyond computation_ms
        communication_ms,            -- exposed, of the rank that waits least for others
        computation_ms,              -- of the rank that computes least
        -- other_ms: neither, such as Python, launches and copies; 0 where it cannot be told from computation
        beyond_data_ms - imbalance_ms - communication_ms - computation_ms AS other_ms,
        sm_clock_mhz                 -- mean in measured steps of the GPU with the highest; null on a CPU
    FROM taken_off
)
SELECT * FROM final;
