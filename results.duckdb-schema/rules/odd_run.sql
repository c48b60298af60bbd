-- title: Single runs are unlike the others
-- severity: warning
-- meaning: Something slowed or sped up single runs: other work on the node, another clock, a cold cache. All figures
--   include them. With three to five rounds one such run widens the interval of its size, and of every size if it is a
--   run of the base line; from nine rounds on one run of a size does not.
--
-- Fires once for a session with odd runs (`odd_runs`), and names them. It leaves nothing out.
WITH of_sessions AS (
    SELECT
        session_id,
        list(format(
            '{} took {:.2f} times as long{}', run_id, slowdown,
            coalesce(' on ' || (fingerprint ->> 'nodes'), '')
        ) ORDER BY abs(ln(slowdown)) DESC, run_id) AS found,
        max(abs(ln(slowdown))) AS magnitude
    FROM odd_runs
    JOIN (SELECT session_id, run_id, attempt, fingerprint FROM runs) AS made_by USING (session_id, run_id, attempt)
    GROUP BY session_id
)
SELECT
    session_id,
    'shown' AS certainty,
    magnitude,
    array_to_string(found[:3], ', ') || CASE
        WHEN len(found) > 3 THEN format(' and {} more', len(found) - 3)
        ELSE ''
    END || format(
        ' as the other runs of {} size; nothing is left out', CASE WHEN len(found) > 1 THEN 'their' ELSE 'its' END
    ) AS evidence,
    'Find out what disturbed ' || CASE WHEN len(found) > 1 THEN 'them' ELSE 'it' END
    || ': other work on the node at that time, its clocks, its log.'
        AS advice
FROM of_sessions
