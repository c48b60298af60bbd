-- The probability after Holm's correction over the rows of a family: `step` is what `holm_step` gave, and none is below
-- one that stood before it. Null where p is.
CREATE OR REPLACE MACRO holm_p_of(p, step, family) AS (
    CASE WHEN p >= 0 THEN least(1, max(step) OVER (PARTITION BY family ORDER BY p NULLS LAST)) END
);
