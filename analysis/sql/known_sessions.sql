-- One row per session, newest first; published tables are no sessions of the user's, so they come last.
SELECT session_id, tags
FROM sessions
ORDER BY origin_of(imported) = 'published', created_at DESC, session_id DESC;
