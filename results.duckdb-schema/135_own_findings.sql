-- One row per finding of a rule of one's own (`bench load --rules DIR`), asked at load: a rule that fails on the rows is
-- left out then, and cannot take the findings of others with it when they are asked for.
CREATE TABLE own_findings (
    finding VARCHAR,               -- the rule's file, without its ending
    session_id VARCHAR,
    case_name VARCHAR,             -- null: of the whole session
    nodes INTEGER,                 -- null: of the whole case
    ranks_per_node INTEGER,        -- null: of the whole case
    threads INTEGER,               -- null: of the whole case
    certainty VARCHAR,             -- shown, likely
    cost DOUBLE,                   -- share of the ranks' time that it explains; null where that is not known
    magnitude DOUBLE,              -- of placements without a cost the larger is the worse, in the unit of the rule
    evidence VARCHAR,              -- the figures that it was found by
    advice VARCHAR,                -- what to change
    knob VARCHAR                   -- arguments for `bench suite` that try it; null where no setting does
);
