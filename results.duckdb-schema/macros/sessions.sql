-- Who measured a session, from its column imported: measured (by scalebench), imported (timings of the user's own),
-- published (a table of `bench reference`, or one in its format).
CREATE OR REPLACE MACRO origin_of(imported) AS
    CASE
        WHEN imported IS NULL THEN 'measured'
        WHEN imported ->> 'format' = 'published' THEN 'published'
        ELSE 'imported'
    END;

-- Id of the session that began last; with an argument, of that suite: `newest_session('smoke')`. A name does not show a
-- session's age, because `--session` gives any name. A published table counts only if there is nothing else. Null if
-- there is no session.
CREATE OR REPLACE MACRO newest_session()
AS (
    SELECT arg_max(session_id, (origin_of(imported) <> 'published', created_at IS NOT NULL, created_at, session_id))
    FROM sessions
),
(of_suite) AS (
    SELECT arg_max(session_id, (origin_of(imported) <> 'published', created_at IS NOT NULL, created_at, session_id))
    FROM sessions
    WHERE suite = of_suite
);

-- Names the compared sessions in which other work kept the machine busy, in words for a finding about the later one:
-- `this session`, `that session`, `both sessions`. Null if there is none, or if it is unknown.
CREATE OR REPLACE MACRO busy_in(is_busy, was_busy) AS (
    CASE
        WHEN is_busy AND was_busy THEN 'both sessions'
        WHEN is_busy THEN 'this session'
        WHEN was_busy THEN 'that session'
    END
);
