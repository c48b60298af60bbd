-- The largest relative difference of losses that rounding explains within 20 steps, by precision; null for others.
-- How these were chosen stands in docs/methodology.md.
CREATE OR REPLACE MACRO loss_tolerance_of(precision) AS (
    CASE precision WHEN 'fp32' THEN 1e-4 WHEN 'tf32' THEN 1e-2 WHEN 'fp16' THEN 1e-2 WHEN 'bf16' THEN 5e-2 END
);
