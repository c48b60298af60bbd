-- One row per published curve that the page draws: what differs from the case of the session that is most like it.
SELECT
    replace(curves.suite, 'published-', '') AS source_name, curves.case_name, curves.title, nearest_case,
    curves.least_workers, curves.most_workers, scaling.efficiency,
    array_to_string(differences, '; ') AS differences,
    is_same_unit, curves.throughput_unit
FROM published_next_to($session_id) AS curves
JOIN scaling
    ON scaling.session_id = curves.session_id AND scaling.case_name = curves.case_name
    AND scaling.workers = curves.most_workers
WHERE likeness <= 6
ORDER BY likeness;
