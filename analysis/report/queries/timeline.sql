-- One row per case, placement, rank and span of the first profiled step of the first ok repeat: neighbouring slices of
-- 1/200 step in which the rank mostly did the same. If there are more than 32 ranks, 16 each with the least and the
-- most exposed communication.
WITH slices AS (
    SELECT
        runs.case_name || ' ' || placement_of(runs.nodes, runs.ranks_per_node, runs.axis, runs.threads) AS panel,
        runs.case_name, runs.workers, runs.nodes, runs.threads, timeline.*
    FROM profile_timeline AS timeline
    JOIN runs USING (session_id, run_id, attempt)
    WHERE runs.session_id = $session_id AND runs.status = 'ok'
    QUALIFY dense_rank() OVER (
        PARTITION BY runs.case_name, runs.nodes, runs.ranks_per_node, runs.threads
        ORDER BY runs.repeat, runs.attempt DESC, timeline.step
    ) = 1
),
ranks AS (
    SELECT
        panel, rank,
        row_number() OVER (PARTITION BY panel ORDER BY sum(exposed_communication_ns), rank) AS place,
        count(*) OVER (PARTITION BY panel) AS rank_count
    FROM slices
    GROUP BY panel, rank
),
states AS (
    SELECT
        slices.*, rank_count,
        greatest(compute_ns - (communication_ns - exposed_communication_ns), 0) AS compute_alone_ns,
        communication_ns - exposed_communication_ns AS hidden_ns,
        greatest(slice_ns - compute_ns - exposed_communication_ns, 0) AS other_ns,
        CASE greatest(exposed_communication_ns, compute_alone_ns, hidden_ns, other_ns)
            WHEN exposed_communication_ns THEN 3
            WHEN compute_alone_ns THEN 1
            WHEN hidden_ns THEN 2
            ELSE 4
        END AS part_order
    FROM slices
    JOIN ranks USING (panel, rank)
    WHERE place <= 16 OR place > rank_count - 16
),
spans AS (
    SELECT
        *,
        slice - row_number() OVER (PARTITION BY panel, rank, part_order ORDER BY slice) AS span
    FROM states
),
final AS (
    SELECT
        panel,
        any_value(case_name) AS case_name,
        any_value(workers) AS workers,
        any_value(nodes) AS nodes,
        any_value(threads) AS threads,
        any_value(rank_count) AS rank_count,
        any_value(step) AS step,
        rank,
        part_order,
        ['compute alone', 'communication behind compute', 'exposed communication', 'other'][part_order] AS part,
        min(begin_ns) / 1e6 AS begin_ms,
        max(begin_ns + slice_ns) / 1e6 AS end_ms
    FROM spans
    GROUP BY panel, rank, part_order, span
)
SELECT panel, case_name, rank_count, step, rank, part, part_order, begin_ms, end_ms
FROM final
WHERE part_order < 4 OR begin_ms = 0
ORDER BY case_name, workers, nodes, threads, panel, rank, begin_ms;
