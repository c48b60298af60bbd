-- The sample variance of a list, null below two; equal numbers have none, and rounding must not invent one.
CREATE OR REPLACE MACRO variance_of(numbers) AS (
    CASE WHEN len(numbers) > 1 AND list_min(numbers) = list_max(numbers) THEN 0 ELSE list_var_samp(numbers) END
);
