-- One row per session, case and placement with an ok run: its first ok repeat, which represents the placement in curves
-- over steps and time. If all repeats succeeded, all placements then have the same seed.
CREATE OR REPLACE VIEW first_runs AS
WITH final AS (
    -- nonfinite_losses: number of single-rank losses that were NaN or infinite, over all steps, warm-up included
    SELECT * FROM run_summary
    WHERE status = 'ok'
    QUALIFY row_number() OVER (PARTITION BY session_id, case_name, placement ORDER BY repeat) = 1
)
SELECT * FROM final;
