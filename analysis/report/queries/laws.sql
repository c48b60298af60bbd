-- One row per case with a fitted law: its coefficients and what follows from them.
SELECT *
FROM scaling_law
WHERE session_id = $session_id AND (serial_fraction IS NOT NULL OR usl_gamma IS NOT NULL)
ORDER BY case_name;
