-- The session ids that an argument gives: one id, or a list of them.
-- By way of JSON, because a macro's argument has no type until it is called.
CREATE OR REPLACE MACRO session_list(sessions) AS (
    CASE json_type(to_json(sessions))
        WHEN 'ARRAY' THEN from_json(to_json(sessions), '["VARCHAR"]')
        ELSE [to_json(sessions) ->> '$']
    END
);
