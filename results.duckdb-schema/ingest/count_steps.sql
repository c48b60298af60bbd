-- Step rows of the sessions of this load.
SELECT count(*) FROM steps WHERE session_id IN (SELECT session_id FROM incoming_sessions);
