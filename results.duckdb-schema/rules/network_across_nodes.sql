-- title: Crossing nodes costs much time
-- severity: warning
-- meaning: Within a node, GPUs communicate over NVLink or PCIe and cores over memory; between nodes, over a network
--   that is often a tenth as fast. If a step exchanges more than the network can carry during computation, all ranks
--   wait for it.
--
-- Fires on the first size across nodes, compared with one node, if exposed communication takes longer by at least a
-- tenth of the step and the intervals of its cost do not overlap; of an estimate, the point counts. If one node has as
-- many ranks, the size across nodes must also be at least a tenth slower, by the end of the interval nearer to no
-- difference. If one node has fewer ranks, exposed communication must take more than twice as long. A larger ring alone
-- does not explain that, because its factor 2 (n - 1) / n is at most twice the factor on 2 ranks or more. Communication
-- may be unknown, as under FSDP without profiled steps. Then slower steps on as many ranks are a likely sign, unless a
-- rank is slower than the others (stragglers).
WITH points AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, workers, world_size, strategy, placement,
        throughput, throughput_unit, repeats, logs, stops_early, rank_step_ms_mean, communication_ms, known_by
    FROM placements
    LEFT JOIN (
        SELECT session_id, case_name, nodes, ranks_per_node, threads, rank_step_ms_mean, communication_ms, known_by
        FROM step_parts
    ) AS step_parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE repeats > 0 AND axis = 'ranks' AND NOT oversubscribed
),
costs AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, share, share_lo, share_hi, is_decided
    FROM efficiency_loss
    WHERE term = 'communication'
),
slow_ranks AS (
    SELECT DISTINCT session_id, case_name, nodes, ranks_per_node, threads FROM stragglers WHERE is_straggler
),
pairs AS (
    SELECT
        across.*,
        one.ranks_per_node AS one_ranks, one.placement AS one_placement, one.throughput AS one_throughput,
        one.communication_ms AS one_communication_ms,
        across.communication_ms - one.communication_ms AS added_ms,
        coalesce(added_ms IS NOT NULL AND across.known_by = one.known_by, false) AS is_known,
        log_ratio(across.logs, one.logs, across.stops_early) AS of_ratio,
        exp(of_ratio['point']) AS ratio
    FROM points AS across
    JOIN points AS one USING (session_id, case_name, threads)
    WHERE across.nodes > 1 AND one.nodes = 1 AND one.world_size > 1 AND one.world_size <= across.world_size
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, threads
        ORDER BY across.world_size, across.nodes, one.world_size DESC, one.ranks_per_node
    ) = 1
),
found AS (
    SELECT
        pairs.*, here.share, here.share_lo, here.share_hi, here.is_decided,
        world_size = one_ranks AS is_as_many,
        if(
            is_as_many, exp(coalesce(of_ratio.hi, of_ratio.point)) <= 0.9, is_known AND communication_ms > 2 * one_communication_ms
        ) AND if(
            is_known,
            added_ms >= 0.1 * rank_step_ms_mean
                AND (
                    here.share_lo IS NULL
                    OR least_share_of(pairs.known_by, here.share, here.share_lo) > coalesce(there.share_hi, 0)
                ),
            slow_ranks.case_name IS NULL
        ) AS is_slow
    FROM pairs
    LEFT JOIN costs AS here USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN slow_ranks USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN costs AS there
        ON there.session_id = pairs.session_id AND there.case_name = pairs.case_name AND there.nodes = 1
        AND there.ranks_per_node = one_ranks AND there.threads = pairs.threads
),
transports AS (
    SELECT session_id, key, string_agg(DISTINCT value, ' / ' ORDER BY value) AS transport
    FROM environment
    WHERE starts_with(key, 'transport_')
    GROUP BY session_id, key
),
settings AS (
    SELECT
        session_id, case_name,
        any_value(config->>'$.strategy_options.gradient_compression') AS gradient_compression,
        bool_or(json_exists(config, '$.strategy_options.shard_size')) AS can_shard,
        any_value(config->>'$.strategy_options.shard_size') AS shard_size
    FROM runs
    GROUP BY session_id, case_name
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(is_known AND known_by = 'estimated', 'estimated', if(
        is_known AND share_lo IS NOT NULL AND if(is_as_many, of_ratio.lo IS NOT NULL, is_decided), 'shown', 'likely'
    )) AS certainty,
    if(is_known, added_ms / rank_step_ms_mean, 1 - ratio) AS cost,
    concat_ws(
        '; ',
        if(
            is_as_many,
            format(
                '{} {} on {}, {} on {}: {} less across nodes', number_text(throughput), throughput_unit, placement,
                number_text(one_throughput), one_placement,
                share_text(1 - ratio, 1 - exp(of_ratio.hi), 1 - exp(of_ratio.lo))
            ),
            NULL
        ),
        if(
            is_known,
            format(
                '{} ms of exposed communication per step on {}, {} ms on {}',
                number_text(communication_ms), placement, number_text(one_communication_ms), one_placement
            ),
            'communication was not measured'
        ),
        if(is_known, format('it costs {} of the ranks'' time', share_text(share, share_lo, share_hi)), NULL),
        format('transport: {}', transport)
    ) AS evidence,
    concat_ws(
        ' ',
        CASE WHEN NOT is_known THEN 'Profile some steps, to see whether communication takes that time.' END,
        CASE
            WHEN transport ILIKE '%socket%' AND regexp_matches(transport, '^[NR]CCL')
            THEN transport[:4] || ' uses TCP sockets between the nodes: if they have InfiniBand or RoCE, add its libraries '
                'to the image and make it visible there (NCCL_DEBUG=INFO shows what was found).'
            WHEN transport ILIKE 'gloo%'
            THEN 'Set GLOO_SOCKET_IFNAME to the interface of the fastest network.'
            ELSE 'Measure the network itself with `bench suite collectives`, and check that the ranks use the fastest one.'
        END,
        CASE
            WHEN can_shard AND shard_size IS NULL
            THEN format('Shard within a node and replicate over nodes (shard_size {}).', one_ranks)
            WHEN gradient_compression = 'none' THEN 'Gradients in bf16 are half as many bytes.'
        END
    ) AS advice,
    'A larger batch, or accumulation, gives a step more computation.' AS alternatives,
    CASE
        WHEN NOT is_known THEN profile_option()
        WHEN can_shard AND shard_size IS NULL
        THEN option_of(case_name, 'strategy.shard_size', one_ranks) || format(' --world {}x{}', nodes, ranks_per_node)
        WHEN gradient_compression = 'none' THEN option_of(case_name, 'strategy.gradient_compression', 'bf16')
    END AS options
FROM found
LEFT JOIN settings USING (session_id, case_name)
LEFT JOIN transports
    ON transports.session_id = found.session_id AND key = 'transport_' || found.nodes || 'x' || found.ranks_per_node
WHERE is_slow AND (is_as_many OR is_decided IS NOT FALSE)
