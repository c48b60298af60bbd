-- The bytes of an element of a dtype or precision as it travels; tf32 rounds inside of multiplications only.
CREATE OR REPLACE MACRO element_bytes_of(dtype) AS (
    CASE WHEN dtype IN ('bf16', 'fp16') THEN 2 ELSE 4 END
);
