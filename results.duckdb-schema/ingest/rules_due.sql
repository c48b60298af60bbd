-- Rules of one's own are asked again of every session whose place among others has changed.
INSERT INTO rules_due
SELECT finding, session_id
FROM diagnosis_rules, affected_sessions
WHERE is_own;
