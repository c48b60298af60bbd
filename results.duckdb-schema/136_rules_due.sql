-- One row per rule of one's own and session that it is still to be asked of: what a load that was ended in between left
-- to do, and all sessions where the rule was left out; nothing else is asked again.
CREATE TABLE rules_due (
    finding VARCHAR,               -- the rule's file, without its ending
    session_id VARCHAR
);
