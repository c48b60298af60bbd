-- The verdict on an efficiency; null where there is none.
-- 0.7499999999999999 is 0.75: thresholds are not left to rounding.
CREATE OR REPLACE MACRO verdict_of(efficiency) AS (
    CASE
        WHEN round(efficiency, 9) > 1.05 THEN 'superlinear'
        WHEN round(efficiency, 9) >= 0.90 THEN 'excellent'
        WHEN round(efficiency, 9) >= 0.75 THEN 'good'
        WHEN round(efficiency, 9) >= 0.50 THEN 'acceptable'
        WHEN efficiency IS NOT NULL THEN 'poor'
    END
);
