-- One row per finding, the most severe first, as in diagnosis.
SELECT
    finding, title, severity, certainty, case_name, placement, workers, world_size, cost, magnitude,
    evidence, short_evidence, meaning, advice, short_advice, options, times, finding_order
FROM diagnosis
WHERE session_id = $session_id
ORDER BY finding_order;
