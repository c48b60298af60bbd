-- What a rule finds in the sessions of the focus.
INSERT INTO findings BY NAME
SELECT '{finding}' AS finding, *
FROM (
{definition}
)
WHERE session_id IN (SELECT session_id FROM focused_sessions)
