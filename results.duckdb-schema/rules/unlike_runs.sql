-- title: Runs differ in what must be equal
-- severity: critical
-- meaning: Runs of this session differ in software, hardware, settings, code or data that must be equal. A speedup
--   between such runs includes the difference, and an interval over such repeats describes none of them.
--
-- Fires if a fact that must be equal (table fingerprint) has several values within the session, on one kind of device.
-- Examples: the session was resumed with another version of torch, on another machine, or with changed code.
WITH counted AS (
    SELECT session_id, key, value, sum(runs)::BIGINT AS runs, min(first_run) AS first_run
    FROM fingerprint
    WHERE differs AND class = 'must_equal'
    GROUP BY session_id, key, value
),
facts AS (
    SELECT
        session_id, key,
        string_agg(
            format(
                '{} in {:,} {}, first in {}',
                if(length(value) > 60, left(value, 59) || '…', fact_text(value)), runs, if(runs = 1, 'run', 'runs'),
                first_run
            ),
            '; ' ORDER BY first_run
        ) AS said
    FROM counted
    GROUP BY session_id, key
)
SELECT
    session_id,
    'shown' AS certainty,
    string_agg(format('{}: {}', key, said), '; ' ORDER BY key) AS evidence,
    'Measure all sizes again in one session: with the same software, code and data, on the same machine.' AS advice
FROM facts
GROUP BY session_id
