-- One row per regression in the history of a suite, newest first: a case and placement that became slower than in the
-- previous session with the same settings, beyond 2 % and for certain. Its columns are those of `history`.
CREATE OR REPLACE VIEW regressions AS
WITH final AS (
    SELECT * FROM history WHERE regression
)
SELECT * FROM final ORDER BY created_at DESC, session_id, ratio;
