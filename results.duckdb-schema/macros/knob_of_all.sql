-- The arguments of `bench suite` that give the key this value in each of these cases (`compared` of compared_cases), as
-- knob_of does: changed in one alone, it would be compared with something else. Null where one of them has none.
CREATE OR REPLACE MACRO knob_of_all(compared, key, value) AS (
    list_reduce(
        [knob_of(each_one.case_name, key, value) FOR each_one IN compared],
        lambda first, second: first || ' ' || second
    )
);
