-- title: The others wait for a slow rank
-- severity: warning
-- meaning: Ranks meet in every step, so all of them wait for the slowest one. Here it is the same rank in step after
--   step: its GPU, core or data path is worse than its neighbours', or it has more work.
--
-- Fires if `stragglers` calls a rank a straggler: the time by which it exceeds the median rank before it first waits is
-- above 2 % of the step with its whole 95 % interval, and larger than the largest excess that as many equal ranks would
-- show by chance. In a command the finding is only likely, because its other ranks may be late for reasons that are
-- not recorded. The rule slow_node reports ranks of a node that is slow as a whole, unequal_work those that
-- have more tokens or examples.
WITH hosts AS (
    SELECT session_id, node, value AS hostname FROM environment WHERE key = 'hostname'
),
slow AS (
    SELECT
        *,
        count(*) OVER of_placement AS slow_ranks,
        data_excess_ms > excess_ms / 2 AS is_for_data
    FROM stragglers
    WHERE is_straggler AND is_slow_node IS NOT TRUE AND has_more_work IS NOT TRUE
    WINDOW of_placement AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
    QUALIFY row_number() OVER (of_placement ORDER BY excess_ms DESC, rank) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(strategy = 'command', 'likely', 'shown') AS certainty,
    cost,
    format(
        'rank {} on node {}{} takes {} ms [{}, {}] longer than the median rank before it first waits{}; the others '
        'wait for it for {}{} of a step{}{}', rank, node, coalesce(format(' ({})', hostname), ''),
        number_text(excess_ms), number_text(excess_ms_lo), number_text(excess_ms_hi),
        CASE
            WHEN data_excess_ms >= excess_ms THEN ', all of it for data'
            WHEN is_for_data THEN format(', {} ms of that for data', number_text(data_excess_ms))
            ELSE ''
        END,
        if(strategy = 'command', 'at most ', if(is_estimated, 'about ', '')), percent_text(cost),
        coalesce(format('; it is last in {:.0f} % of the steps', 100 * times_slowest_share), ''),
        if(slow_ranks > 1, format('; {} of {} ranks are slow', slow_ranks, world_size), '')
    ) AS evidence,
    if(
        is_for_data,
        'Look at how that rank gets its data: larger or more expensive examples, fewer loader processes or cores, or a '
        'slower file system than the others have.',
        concat_ws(
            ' ',
            CASE
                WHEN work_unit IS NULL
                THEN 'See first whether it has as much work: its tokens or examples were not counted.'
            END,
            'Check what shares that rank''s GPU or cores, and whether its GPU runs at a lower clock or its data comes '
            'from farther away.'
        )
    ) AS advice,
    'If it is the same place in every session, exclude the node and tell the administrators.' AS alternatives
FROM slow
LEFT JOIN hosts USING (session_id, node)
