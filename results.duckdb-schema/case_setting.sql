-- The argument of `bench suite` that sets a key of a case, `--set cases.ddp.global_batch=256`. What a matrix makes is
-- named NAME~key=value: a setting is for all that NAME stands for, and null where the matrix varies that key itself.
CREATE OR REPLACE MACRO case_setting(case_name, key, new_value) AS (
    CASE WHEN NOT contains(case_name, '~' || split_part(key, '.', -1) || '=')
        THEN format('--set cases.{}.{}={}', split_part(case_name, '~', 1), key, new_value)
    END
);
