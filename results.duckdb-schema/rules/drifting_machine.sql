-- title: The machine drifted
-- severity: notice
-- meaning: The same runs took longer in some rounds than in others, or later in a round than earlier. Something other
--   than the training changed meanwhile: temperature, clocks, other work on the machine or on its network.
--
-- Fires if the F test of rounds, or of the position in a round, is significant at 1 % and the effect is at least 2 %:
-- between the fastest and the slowest round, or between the first and the last position. See the table rounds.
WITH extremes AS (
    SELECT
        session_id,
        count(*) AS rounds,
        any_value(sizes) AS sizes,
        any_value(p_rounds) AS p_rounds,
        any_value(p_position) AS p_position,
        any_value(position_ratio) AS position_ratio,
        arg_min(round, round_ratio) AS slowest,
        arg_max(round, round_ratio) AS fastest,
        1 - min(round_ratio) / max(round_ratio) AS slower
    FROM rounds
    GROUP BY session_id
),
judged AS (
    SELECT
        *,
        coalesce(p_rounds < 0.01 AND slower >= 0.02, false) AS rounds_differ,
        coalesce(p_position < 0.01 AND abs(1 - position_ratio) >= 0.02, false) AS positions_differ
    FROM extremes
),
of_sessions AS (
    SELECT session_id, run_order FROM sessions
)
SELECT
    session_id,
    'shown' AS certainty,
    greatest(if(rounds_differ, slower, 0), if(positions_differ, abs(1 - position_ratio), 0)) AS magnitude,
    concat_ws(
        '; ',
        if(
            rounds_differ,
            format(
                'round {} of {} was {} slower than round {}, over {} sizes (p = {})',
                slowest + 1, rounds, percent_text(slower), fastest + 1, sizes, number_text(p_rounds)
            ),
            NULL
        ),
        if(
            positions_differ,
            format(
                'the last run of a round was {} {} than the first would have been (p = {})',
                percent_text(abs(1 - position_ratio)), if(position_ratio < 1, 'slower', 'faster'),
                number_text(p_position)
            ),
            NULL
        )
    ) AS evidence,
    if(
        run_order = 'fixed',
        'Let the session draw the order of each round (leave out --order fixed): in a fixed order a drift within rounds '
        'looks like a difference between sizes.',
        'Look for what changed: clocks and temperatures, other work on the machine, its network. '
        || if(
            positions_differ,
            'Ratios include it for sizes that ran mostly early or mostly late in a round.',
            'Ratios within rounds do not include it; throughputs do, so their intervals are wider.'
        )
    ) AS advice
FROM judged
JOIN of_sessions USING (session_id)
WHERE rounds_differ OR positions_differ
