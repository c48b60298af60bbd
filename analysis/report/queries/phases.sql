-- One row per case, placement and phase of a step: mean over ranks, measured steps and ok repeats.
SELECT
    case_name || ' ' || placement AS label,
    case_name,
    workers,
    phase,
    phase_order,
    phase_ms,
    share
FROM phases
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads, phase_order;
