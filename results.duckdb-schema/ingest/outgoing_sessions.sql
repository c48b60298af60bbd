-- One row per session that this load takes away or replaces, as it was.
CREATE OR REPLACE TEMP TABLE outgoing_sessions AS
SELECT session_id, suite, created_at FROM sessions WHERE session_id IN (SELECT unnest($ids::VARCHAR[]));
