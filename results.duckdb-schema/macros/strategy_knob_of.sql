-- The argument of `bench suite` that gives the case another strategy with its defaults, as knob_of does. Null where the
-- case's matrix varies one of the options that it has now, which another strategy would not know.
CREATE OR REPLACE MACRO strategy_knob_of(case_name, strategy_options, new_strategy) AS (
    CASE
        WHEN NOT list_has_any(
            regexp_extract_all(case_name, '~([^~=]+)=', 1),
            list_append(coalesce(json_keys(strategy_options), []::VARCHAR[]), 'name')
        ) THEN knob_of(case_name, 'strategy', new_strategy)
    END
);
