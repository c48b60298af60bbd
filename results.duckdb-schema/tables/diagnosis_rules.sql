-- One row per rule of diagnosis, from the heads of the files in rules/ and of those that --rules names.
CREATE TABLE diagnosis_rules (
    finding VARCHAR,               -- the rule's file, without its ending
    title VARCHAR,                 -- what is wrong, in a few words
    severity VARCHAR,              -- critical: the figures or the training are spoilt; warning: it costs; notice: know it
    meaning VARCHAR,               -- why that matters, for a person who meets it for the first time
    is_own BOOLEAN,                -- whether it is of --rules
    definition VARCHAR,            -- its SELECT
    problem VARCHAR,               -- why it was left out at load; null of one that looked
    is_due BOOLEAN                 -- of a rule of --rules: to be asked: a load was ended before it, or it was left out
);
