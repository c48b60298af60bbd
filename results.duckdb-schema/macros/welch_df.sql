-- The degrees of freedom of Welch's t by Satterthwaite, where a and b are the variances of the means of m and n units;
-- the other one may be zero: then they are Student's. Where neither varies any t times zero is zero, so that 1 serves.
-- Null where a variance is unknown. One number per call.
CREATE OR REPLACE MACRO welch_df(a, m, b, n) AS (
    CASE
        WHEN a + b > 0 THEN (a + b) ** 2 / (a ** 2 / (m - 1) + b ** 2 / (n - 1))
        WHEN a + b = 0 THEN 1
    END
);
