-- One row per row of history of the suites of some sessions: while a report is written, a table.
CREATE TEMP TABLE history AS
FROM history
WHERE suite IN (SELECT suite FROM sessions WHERE session_id IN (SELECT unnest($session_ids)));
