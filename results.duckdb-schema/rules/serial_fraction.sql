-- title: The speedup is near its limit
-- severity: notice
-- meaning: A part of each step takes the same time however many workers share the rest. By Amdahl's law, this part
--   alone limits the speedup; beyond the limit, more workers only wait. Karp-Flatt estimates this part at one size. If
--   the estimate is equal at every size, it is work that is not shared. If it grows, it costs more and more to keep
--   the workers in step.
--
-- Fires under strong scaling over at least three sizes, because two cannot distinguish a serial part from a growing
-- one. It grows if any smaller size surely has a lower one; the rule then compares with the surest. Karp-Flatt at the
-- largest size, by the lower end of its interval if there is one, must be so large that by Amdahl's law twice as many
-- workers would be less than 1.5 times as fast: half of the added ones would be lost. Does not fire if Karp-Flatt falls
-- from size to size, which Amdahl's law does not explain; if a smaller size is faster than the limit; or if the largest
-- size is slower than the one before it, which is negative_scaling.
WITH sizes AS (
    SELECT
        *,
        workers / baseline_workers AS p,
        count(*) OVER of_case AS times,
        first_value(workers) OVER of_case AS smallest,
        -- lowest: the smaller size that is surest to have a lower fraction
        arg_min(workers, karp_flatt_hi) OVER before AS lowest,
        min(karp_flatt_hi) OVER before AS lowest_hi,
        max(karp_flatt_lo) OVER before AS highest_lo,
        max(karp_flatt) OVER before AS highest,
        max(speedup / baseline_workers) OVER of_case AS best
    FROM (
        SELECT * FROM scaling
        WHERE karp_flatt IS NOT NULL AND NOT oversubscribed
        QUALIFY row_number() OVER (
            PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
        ) = 1
    ) AS one_per_size
    WINDOW
        of_case AS (
            PARTITION BY session_id, case_name ORDER BY workers ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ),
        before AS (
            PARTITION BY session_id, case_name ORDER BY workers ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
),
smaller AS (
    SELECT
        session_id, case_name,
        workers AS first_workers,
        karp_flatt AS first_fraction, karp_flatt_lo AS first_lo, karp_flatt_hi AS first_hi
    FROM sizes
),
known AS (
    SELECT DISTINCT session_id, case_name, nodes, ranks_per_node, threads, known_by = 'profiled' AS is_profiled
    FROM efficiency_loss
),
largest AS (
    SELECT
        sizes.*, first_workers, first_fraction, first_lo, first_hi, compared, largest_factor,
        if(axis = 'threads', 'thread', 'rank') AS worker,
        coalesce(karp_flatt_lo, karp_flatt) AS at_least,
        2 * (1 + at_least * (p - 1)) / (1 + at_least * (2 * p - 1)) AS gain_of_a_doubling,
        karp_flatt_lo + first_lo IS NOT NULL AS have_intervals,
        -- By a factor, because a fraction may be small at every size: 1.1 between the intervals, 1.5 without them.
        if(
            have_intervals,
            karp_flatt_lo > 1.1 * greatest(first_hi, 0),
            karp_flatt > 1.5 * greatest(first_fraction, 0) AND karp_flatt > highest
        ) AS is_rising,
        if(have_intervals, highest_lo > 1.1 * greatest(karp_flatt_hi, 0), first_fraction > 1.5 * greatest(karp_flatt, 0))
            AS is_falling,
        is_rising AND axis = 'ranks' AND is_profiled IS NOT TRUE AS is_to_profile
    FROM sizes
    JOIN smaller
        ON smaller.session_id = sizes.session_id AND smaller.case_name = sizes.case_name
        AND first_workers = CASE
            WHEN lowest IS NOT NULL AND karp_flatt_lo > 1.1 * greatest(lowest_hi, 0) THEN lowest ELSE smallest
        END
    JOIN compared_cases ON compared_cases.session_id = sizes.session_id AND compared_cases.case_name = sizes.case_name
    LEFT JOIN known
        ON known.session_id = sizes.session_id AND known.case_name = sizes.case_name
        AND known.nodes = sizes.nodes AND known.ranks_per_node = sizes.ranks_per_node AND known.threads = sizes.threads
    WHERE times > 1
    QUALIFY row_number() OVER (PARTITION BY sizes.session_id, sizes.case_name ORDER BY workers DESC) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(have_intervals, 'shown', 'likely') AS certainty,
    1 - efficiency AS cost,
    format(
        'the serial fraction by Karp-Flatt is {} on {:,} {} and {} on {:,}: {}; at this fraction, no number of {} is '
        'more than {}{} times as fast as {}',
        fraction_text(first_fraction, first_lo, first_hi), first_workers, axis,
        fraction_text(karp_flatt, karp_flatt_lo, karp_flatt_hi), workers,
        if(is_rising, 'it grows', if(have_intervals, 'no growth beyond noise', 'no clear growth')),
        axis, number_text(1 / karp_flatt),
        CASE
            WHEN NOT is_too_wide(karp_flatt_lo, least(karp_flatt_hi, 1))
            THEN format(' [{}, {}]', number_text(1 / least(karp_flatt_hi, 1)), number_text(1 / karp_flatt_lo))
            ELSE ''
        END,
        baseline_workers
    ) AS evidence,
    if(
        is_rising,
        format(
            '{} why each added {} costs more than the one before: exchanging gradients, or waiting for the slowest; '
            'then exchange less often, with a larger batch.',
            if(is_to_profile, 'Profile some steps to see', 'See in efficiency_loss'), worker
        ),
        format(
            'Look for work that every {} does in full: the optimizer (FSDP shards it), Python and launches around '
            'short operations (torch.compile), loading. Or make the step larger: with four times the global batch, the '
            'serial part weighs a quarter.', worker
        )
    ) AS advice,
    if(
        is_to_profile,
        profile_option(),
        CASE WHEN coalesce(largest_factor, 4) >= 4 THEN batch_option_of(compared, 4) END
    ) AS options
FROM largest
WHERE NOT is_loss_unknown(efficiency_lo, efficiency_hi)
    AND at_least > 0 AND gain_of_a_doubling < 1.5 AND karp_flatt < 1 AND NOT is_falling
    AND 1 / karp_flatt >= best
    AND verdict IS DISTINCT FROM 'retrograde' AND verdict IS DISTINCT FROM 'different training'
