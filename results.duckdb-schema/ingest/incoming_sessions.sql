-- One row per session of this load: what derived/ works on.
CREATE OR REPLACE TEMP TABLE incoming_sessions AS
SELECT unnest($ids::VARCHAR[]) AS session_id;
