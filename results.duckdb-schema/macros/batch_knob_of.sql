-- The arguments of `bench suite` that make the batch of each of these cases (`compared` of compared_cases) so many
-- times as large, as knob_of does: of one alone, it would be compared with another training. Null where one has none.
CREATE OR REPLACE MACRO batch_knob_of(compared, factor) AS (
    list_reduce(
        [
            knob_of(each_one.case_name, each_one.batch_key, (factor * each_one.batch)::BIGINT)
            FOR each_one IN compared
        ],
        lambda first, second: first || ' ' || second
    )
);
