-- One row per session that views are narrowed to (analysis/focus.py).
CREATE OR REPLACE TEMP TABLE focused_sessions AS
SELECT unnest($ids::VARCHAR[]) AS session_id;
