-- title: One repeat
-- severity: notice
-- meaning: A size, or the base line that it is compared with, has one ok run, so the variation between equal runs is
--   unknown. The result has no interval, and a difference of a few percent may be chance.
--
-- Fires for a session with sizes that are compared by one ok run on a side, if some size was run once. If runs failed,
-- that is another finding.
WITH sizes AS (
    SELECT
        session_id, case_name, placement, runs, repeats,
        verdict IS NOT DISTINCT FROM 'one repeat' AS is_open,
        row_number() OVER (PARTITION BY session_id ORDER BY repeats, is_baseline DESC, workers, case_name) AS place
    FROM scaling
    WHERE NOT is_published AND throughput IS NOT NULL AND NOT oversubscribed
),
of_sessions AS (
    SELECT
        session_id,
        count(*) AS measured,
        count(*) FILTER (is_open) AS open_sizes,
        max(repeats) AS most_repeats,
        list(format('{} on {}', case_name, placement) ORDER BY place) FILTER (runs = 1) AS lone
    FROM sizes
    GROUP BY session_id
)
SELECT
    session_id,
    'shown' AS certainty,
    CASE
        WHEN most_repeats = 1 THEN format('each of the {} sizes with a result has one ok run', measured)
        ELSE format(
            '{}{} has one ok run: {} without an interval',
            lone[1],
            CASE WHEN len(lone) > 1 THEN format(', as {} more,', len(lone) - 1) ELSE '' END,
            CASE WHEN open_sizes = 1 THEN '1 size is' ELSE format('{} sizes are', open_sizes) END
        )
    END AS evidence,
    'Take 3 more rounds, then ask again.' AS advice,
    format('--repeats {}', most_repeats + 3) AS options
FROM of_sessions
WHERE open_sizes > 0 AND len(lone) > 0
