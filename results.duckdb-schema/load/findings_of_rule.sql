-- Store the findings of a rule in the table findings. Published tables have none.
INSERT INTO {table} BY NAME
SELECT '{finding}' AS finding, *
FROM (
{definition}
)
WHERE session_id IN (SELECT session_id FROM sessions WHERE origin_of(imported) <> 'published')
