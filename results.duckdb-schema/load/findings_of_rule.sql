-- Store the findings of a rule in the table findings.
INSERT INTO {table} BY NAME
SELECT '{finding}' AS finding, *
FROM (
{definition}
)
WHERE session_id IN (SELECT session_id FROM sessions)
