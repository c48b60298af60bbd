-- One row per diagnosis rule. Every rule is applied to every session, except those with a problem, which were left out
-- at load.
SELECT finding, title, severity, meaning, is_custom, problem
FROM diagnosis_rules
WHERE $session_id IN (SELECT session_id FROM sessions)
ORDER BY title;
