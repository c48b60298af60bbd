-- One row per regression in the history of a suite, newest first: a case and placement that became slower than in the
-- previous session with the same settings, by more than 2 % and beyond noise. Same columns as `history`.
CREATE OR REPLACE VIEW regressions AS
WITH final AS (
    SELECT * FROM history WHERE regression
)
SELECT * FROM final ORDER BY created_at DESC, session_id, ratio;
