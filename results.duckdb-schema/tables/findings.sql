-- One row per finding of a rule and place, as load stored it: the rules that ship are asked in the load's transaction,
-- those of one's own (`bench load --rules DIR`) each in one of its own after it. The view diagnosis reads them.
CREATE TABLE findings (
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
