-- One row per session, case and placement with an ok run: its first ok repeat, which stands for the placement in curves
-- over steps and time. All placements then have the same seed where all repeats succeeded.
CREATE OR REPLACE VIEW first_runs AS
WITH final AS (
    -- nonfinite_losses: losses of single ranks that were NaN or infinite, over all steps, warm-up included
    SELECT * FROM run_summary
    WHERE status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY session_id, case_name, placement ORDER BY repeat) = 1
)
SELECT * FROM final;
