-- Id of the session that began last; with an argument, of that suite: `newest_session('smoke')`. A name does not show a
-- session's age, because `--session` gives any name. Null if there is no session.
CREATE OR REPLACE MACRO newest_session(of_suite := NULL) AS (
    SELECT session_id
    FROM sessions
    WHERE of_suite IS NULL OR suite = of_suite
    ORDER BY created_at DESC, session_id DESC
    LIMIT 1
);
