-- One row per diagnosis rule, from the headers of the files in rules/ and of those in the --rules directory.
CREATE TABLE diagnosis_rules (
    finding VARCHAR,               -- name of the rule's file, without its extension
    title VARCHAR,                 -- what is wrong, in a few words
    severity VARCHAR,  -- critical: figures or training are invalid; warning: it costs time; notice: good to know
    meaning VARCHAR,               -- why it matters, for a reader who meets it for the first time
    is_custom BOOLEAN,                -- whether it is a custom rule (--rules)
    definition VARCHAR,            -- SELECT statement of the rule
    problem VARCHAR,               -- why the rule was left out at load; null if it ran
    is_due BOOLEAN  -- whether a custom rule still has to run: a load ended before it, or the rule was left out
);
