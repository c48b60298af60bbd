-- The half-width of the 95 % interval of a mean over repeats (Student's t), from their number and sample variance. Null
-- below two repeats. One number per call.
CREATE OR REPLACE MACRO mean_half_width(repeats, variance) AS (
    t_quantile(CASE WHEN repeats > 1 THEN repeats - 1 END) * sqrt(variance / repeats)
);
