-- One row per case and placement: the runs that were planned, and their outcomes.
SELECT
    case_name,
    placement,
    planned, ok, oom, failed, timeout, interrupted, skipped, missing, attempts, reasons
FROM coverage
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
