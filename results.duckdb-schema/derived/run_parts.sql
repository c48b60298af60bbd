-- One row per ok run and way of knowing: a rank's mean step, split into parts. The parts are subtracted in order, none
-- below 0, so they add up to the step and overlaps count once. `profiled`: compute and exposed communication of the
-- profiled steps, as shares of their time without waiting for data, because the profiler slows everything down. `one
-- rank`: there is no waiting and no communication, so everything except data is computation. `estimated` (ddp, where
-- only backward communicates): computation of backward is forward times the ratio of the two on the baseline's one
-- rank; the rest of backward is communication. Each run also has one row without known_by, with its
-- step and data only.
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
        step_ns_mean / 1e6 AS rank_step_ms_mean,
        CASE WHEN data_ns_added IS NOT NULL THEN least(data_ns_added / 1e6, rank_step_ms_mean) END AS data_ms,
        rank_step_ms_mean - coalesce(data_ms, 0) AS beyond_data_ms,
        forward_ns_most / 1e6 AS forward_ms_most,
        forward_ns_least / 1e6 AS forward_ms_least,
        -- Factor from a ns under the profiler to a ns without it; if data of profiled steps is unknown, by whole steps.
        CASE
            WHEN data_ms IS NULL OR profiled_data_ns_added IS NULL
            THEN rank_step_ms_mean / nullif(profiled_step_ns_mean, 0)
            WHEN profiled_step_ns_mean > profiled_data_ns_added
            THEN beyond_data_ms / (profiled_step_ns_mean - profiled_data_ns_added)
        END AS ms_per_profiled_ns,
        exposed_ns_least, exposed_ns_most, profiled_data_ns_added, compute_ns_most, compute_ns_least, sm_clock_mhz
    FROM ok_runs
    JOIN run_part_stats USING (session_id, run_id, attempt)
),
-- Only for the placement that scaling uses as the case's baseline, and only if that is one rank: phases of several
-- ranks contain waiting and communication.
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
-- The rank with the longest forward has the least left for backward: first its own computation, then its extra
-- computation over others there, as in forward; the rest is communication.
with_room AS (
    SELECT
        *,
        forward_ms_most - forward_ms_least AS forward_imbalance_ms,
        greatest(beyond_data_ms - forward_ms_most - optimizer_ms, 0) AS room_ms,
        least(backward_to_forward * forward_ms_least, room_ms) AS backward_computation_ms
    FROM with_backward
),
raw AS (
    -- A rank can be slow outside operators and kernels, as in Python: the others then wait in a collective, beyond what
    -- they wait there for its data. Forward shows it, too, if forward does not wait for others.
    SELECT
        *, 'profiled' AS known_by,
        greatest(
            (compute_ns_most - compute_ns_least) * ms_per_profiled_ns,
            (exposed_ns_most - exposed_ns_least - coalesce(profiled_data_ns_added, 0)) * ms_per_profiled_ns
                - CASE WHEN profiled_data_ns_added IS NULL THEN coalesce(data_ms, 0) ELSE 0 END,
            forward_imbalance_ms
        ) AS raw_imbalance_ms,
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
        beyond_data_ms - imbalance_ms AS beyond_waits_ms,
        CASE
            WHEN known_by = 'estimated' THEN greatest(beyond_waits_ms - raw_computation_ms, 0)
            ELSE least(raw_communication_ms, beyond_waits_ms)
        END AS communication_ms,
        least(raw_computation_ms, beyond_waits_ms - communication_ms) AS computation_ms
    FROM raw
    UNION ALL BY NAME
    FROM measured
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        known_by,                    -- profiled, one rank, estimated; null: communication is unknown
        rank_step_ms_mean,           -- of a rank, mean over ranks and measured steps; the parts add up to it
        data_ms,                     -- delay that waiting for data causes to the rank that the others wait for
        imbalance_ms,                -- of the rank with the most in each step, beyond computation_ms
        communication_ms,            -- exposed, of the rank that waits least for others
        computation_ms,              -- of the rank that computes least
        -- other_ms: rest, such as Python, launches and copies; 0 if it cannot be distinguished from computation
        beyond_data_ms - imbalance_ms - communication_ms - computation_ms AS other_ms,
        sm_clock_mhz                 -- mean in measured steps of the GPU with the highest clock; null on a CPU
    FROM taken_off
)
SELECT * FROM final;
