-- One row per case and segment: its law, if any case of the session has one; and the error of the prediction from
-- communication at each measured size except the one that it starts from.
WITH errors AS (
    SELECT
        case_name,
        list({'workers': workers, 'relative_error': relative_error} ORDER BY workers) AS communication_errors
    FROM scaling_prediction
    WHERE session_id = $session_id AND law = 'communication' AND relative_error IS NOT NULL
    GROUP BY case_name
)
SELECT *
FROM scaling_law
LEFT JOIN errors USING (case_name)
WHERE session_id = $session_id
QUALIFY bool_or(best_form IS NOT NULL OR communication_errors IS NOT NULL) OVER ()
ORDER BY case_name, list_position(['all', 'one node', 'across nodes'], segment);
