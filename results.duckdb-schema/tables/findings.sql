-- One row per finding of a rule at a placement, as stored by load. The shipped rules run in the load's transaction;
-- each custom rule (`bench load --rules DIR`) then runs in its own transaction. The view diagnosis reads this table.
CREATE TABLE findings (
    finding VARCHAR,               -- name of the rule's file, without its extension
    session_id VARCHAR,
    case_name VARCHAR,             -- null: applies to the whole session
    nodes INTEGER,                 -- null: applies to the whole case
    ranks_per_node INTEGER,        -- null: applies to the whole case
    threads INTEGER,               -- null: applies to the whole case
    certainty VARCHAR,  -- shown, likely, estimated: the view diagnosis shows it as likely, and advises to measure first
    cost DOUBLE,                   -- share of the ranks' time that the finding explains; null if unknown
    magnitude DOUBLE,              -- orders placements that have no cost: larger is worse; the unit depends on the rule
    evidence VARCHAR,              -- the figures behind the finding
    details VARCHAR,               -- further figures, which a terminal does not show
    advice VARCHAR,                -- what to change
    alternatives VARCHAR,          -- what else may help, which a terminal does not show
    caution VARCHAR,               -- a side effect of the advice
    options VARCHAR                   -- arguments of `bench suite` that try the advice; null if no setting does
);
