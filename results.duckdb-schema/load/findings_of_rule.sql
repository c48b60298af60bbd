-- Store the findings of a rule in the table findings. A published table has none: nothing of it was measured here.
INSERT INTO {table} BY NAME
SELECT '{finding}' AS finding, *
FROM (
{definition}
)
WHERE session_id IN (SELECT session_id FROM sessions WHERE origin_of(imported) <> 'published')
