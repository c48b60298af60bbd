-- The runs of the files that are loaded next.
CREATE OR REPLACE TEMP VIEW incoming_runs AS
FROM runs SEMI JOIN incoming_files USING (session_id, run_id, attempt);
