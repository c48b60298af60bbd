-- One row per session, case and placement with measured steps: a rank's mean step, split as in run_parts; means over ok
-- repeats. The parts add up to rank_step_ms_mean. All repeats use the same way of knowing, the most reliable that each
-- of them has: profiled, else one rank, else estimated.
WITH points AS MATERIALIZED (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, known_by,
        list_position(['estimated', 'one rank', 'profiled'], known_by) AS sureness,
        count(*) AS repeats,
        avg(rank_step_ms_mean) AS rank_step_ms_mean,
        CASE WHEN count(data_ms) = count(*) THEN avg(data_ms) END AS data_ms,
        avg(imbalance_ms) AS imbalance_ms,
        avg(communication_ms) AS communication_ms,
        avg(computation_ms) AS computation_ms,
        avg(other_ms) AS other_ms
    FROM run_parts
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, known_by
),
chosen AS (
    SELECT * FROM points
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads
        ORDER BY repeats DESC, sureness DESC NULLS LAST
    ) = 1
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, oversubscribed,
        chosen.repeats,              -- ok runs with measured steps
        known_by,                    -- as in run_parts; null: communication, and all that depends on it, is unknown
        chosen.rank_step_ms_mean,    -- of a rank, mean over ranks and measured steps; the parts add up to it
        data_ms,                     -- delay that waiting for data causes to the rank that the others wait for
        imbalance_ms,                -- computation of the rank with the most in each step, beyond computation_ms
        communication_ms,            -- exposed, of the rank that waits least for others
        computation_ms,              -- of the rank that computes least
        other_ms                     -- rest, such as Python, launches and copies; 0 unless profiled
    FROM chosen
    JOIN placements USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
