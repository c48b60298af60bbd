-- One row per case, placement and part of the wall time of its runs, all repeats together, with any status.
-- start-up: from the start of the run to the ranks' common barrier; measured: the longest rank's span; other: warm-up,
-- validation, shutdown; lost: all of a run that is not ok.
WITH points AS (
    SELECT
        case_name || ' ' || placement AS label,
        case_name, workers, nodes, threads,
        count(*) AS runs,
        sum(setup_s) FILTER (status = 'ok') AS "start-up",
        sum(span_s) FILTER (status = 'ok') AS measured,
        sum(greatest(elapsed_s - setup_s - coalesce(span_s, 0), 0)) FILTER (status = 'ok') AS other,
        sum(elapsed_s) FILTER (status <> 'ok') AS lost
    FROM run_summary
    WHERE session_id = $session_id
    GROUP BY ALL
),
long AS (
    UNPIVOT points ON "start-up", measured, other, lost INTO NAME part VALUE wall_s
),
final AS (
    SELECT label, case_name, workers, part, list_position(['start-up', 'measured', 'other', 'lost'], part) AS part_order,
        runs, wall_s, nodes, threads
    FROM long
    WHERE wall_s > 0
)
SELECT * EXCLUDE (nodes, threads) FROM final ORDER BY case_name, workers, nodes, threads, part_order;
