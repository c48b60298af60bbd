-- One row per rule of diagnosis that looked at the session: each looks at every one.
SELECT finding, title, severity, meaning, is_own
FROM diagnosis_rules
WHERE $session_id IN (SELECT session_id FROM sessions)
ORDER BY title;
