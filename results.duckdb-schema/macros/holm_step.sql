-- The first of two steps of Holm's correction over the rows of a family, which is a column or a constant: the smallest
-- of k probabilities times k, the next times k - 1, and so on. Nulls take no part. `holm_p_of` is the second.
CREATE OR REPLACE MACRO holm_step(p, family) AS (
    p * (
        count(p) OVER (PARTITION BY family) + 1
        - row_number() OVER (PARTITION BY family ORDER BY p NULLS LAST)
    )
);
