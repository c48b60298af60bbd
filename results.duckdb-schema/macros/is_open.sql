-- The answer to whether an efficiency spans more than two verdicts, by those at its ends: none can then be told. Null
-- where one is unknown.
CREATE OR REPLACE MACRO is_open(verdict_lo, verdict_hi) AS (
    list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_hi)
        - list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_lo) > 1
);
