-- One row per case, placement and part of a profiled step: mean over ranks, profiled steps and ok repeats.
WITH points AS (
    SELECT
        case_name || ' ' || placement AS label,
        case_name, workers, nodes, threads, profiled_step_ms, overlap, message_bytes,
        compute_ms - hidden_communication_ms AS "compute alone",
        hidden_communication_ms AS "communication behind compute",
        exposed_communication_ms AS "exposed communication",
        other_ms AS "other"
    FROM communication
    WHERE session_id = $session_id
),
parts AS (
    UNPIVOT points
    ON "compute alone", "communication behind compute", "exposed communication", "other"
    INTO NAME part VALUE part_ms
),
final AS (
    SELECT
        *,
        list_position(
            ['compute alone', 'communication behind compute', 'exposed communication', 'other'], part
        ) AS part_order,
        part_ms / profiled_step_ms AS share,
        message_bytes / 2 ** 20 AS message_mib
    FROM parts
)
SELECT label, case_name, workers, part, part_order, part_ms, share, overlap, message_mib
FROM final
ORDER BY case_name, workers, nodes, threads, part_order;
