-- One row per case and placement: what was planned and what became of it.
SELECT
    case_name,
    placement,
    planned, ok, oom, failed, timeout, interrupted, skipped, missing, attempts, reasons
FROM coverage
WHERE session_id = $session_id
ORDER BY case_name, workers, nodes, threads;
