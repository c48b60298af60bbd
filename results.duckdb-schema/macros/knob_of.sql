-- The arguments of `bench suite` that give the case's key this value: `--set cases.NAME.KEY=VALUE`. Of a case that a
-- matrix made NAME is without the matrix's choice; null where the matrix varies the key itself, or one above it, and of
-- a name that no suite file could have.
CREATE OR REPLACE MACRO knob_of(case_name, key, value) AS (
    CASE
        WHEN len([part FOR part IN string_split(key, '.') IF contains(case_name, '~' || part || '=')]) = 0
            AND regexp_full_match(split_part(case_name, '~', 1), '[a-z0-9_-]+')
        THEN format('--set cases.{}.{}={}', split_part(case_name, '~', 1), key, value)
    END
);
