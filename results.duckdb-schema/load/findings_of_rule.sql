-- What a rule finds, into the table of findings.
INSERT INTO {table} BY NAME
SELECT '{finding}' AS finding, *
FROM (
{definition}
)
WHERE session_id IN (SELECT session_id FROM sessions)
