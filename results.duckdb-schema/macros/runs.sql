-- One row per run: its last attempt, which is the one that counts.
CREATE OR REPLACE MACRO last_attempts() AS TABLE
FROM runs QUALIFY row_number() OVER (PARTITION BY session_id, run_id ORDER BY attempt DESC) = 1;
