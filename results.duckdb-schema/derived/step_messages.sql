-- One row per session, case of communication_points and operation in an optimizer step: what a rank sends, from the
-- strategy and its options. Cases whose messages cannot be known (PowerSGD, offloading, unknown units) have no row.
-- docs/methodology/communication.md has the table.
WITH cases AS (
    SELECT
        session_id, case_name, strategy, parameters, precision,
        units,
        coalesce(accumulate, 1) AS micro_batches,
        config->'strategy_options' AS options
    FROM runs
    SEMI JOIN communication_points USING (session_id, case_name)
    WHERE status = 'ok' AND probe IS NOT TRUE
    QUALIFY row_number() OVER (PARTITION BY session_id, case_name ORDER BY world_size, nodes, repeat, attempt DESC) = 1
),
-- DDP puts gradients into buckets and compresses them only then.
ddp AS (
    SELECT
        session_id, case_name,
        coalesce(options->>'gradient_compression', 'none') AS compression,
        [{
            'op': 'all_reduce', 'phase': 'last_backward', 'scope': 'ranks',
            'messages': ceil(4 * parameters / (coalesce(try_cast(options->>'bucket_cap_mb' AS DOUBLE), 25) * 2 ** 20)),
            'message_bytes': parameters * element_bytes_of(compression)
        }] AS sent
    FROM cases
    WHERE strategy = 'ddp' AND compression <> 'powersgd'
),
sharded AS (
    SELECT
        *,
        coalesce(options->>'reshard', options->>'sharding_strategy', 'full') IN ('grad_op', 'shard_grad_op') AS keeps,
        parameters * element_bytes_of(coalesce(options->>'param_dtype', precision)) AS gathered_bytes,
        parameters * element_bytes_of(options->>'reduce_dtype') AS reduced_bytes,
        CASE WHEN keeps AND strategy = 'fsdp1' THEN 1 ELSE micro_batches END AS gathers
    FROM cases
    WHERE strategy IN ('fsdp', 'fsdp1') AND coalesce(options->>'cpu_offload', 'false') <> 'true'
),
fsdp AS (
    SELECT
        session_id, case_name,
        [
            {
                'op': 'all_gather', 'phase': 'forward', 'scope': 'ranks',
                'messages': gathers * units, 'message_bytes': gathers * gathered_bytes
            },
            {
                'op': 'all_gather', 'phase': 'backward', 'scope': 'ranks',
                'messages': if(keeps, 0, gathers * units), 'message_bytes': if(keeps, 0, gathers * gathered_bytes)
            },
            {
                'op': 'reduce_scatter', 'phase': 'last_backward', 'scope': 'ranks',
                'messages': units, 'message_bytes': reduced_bytes
            },
            {
                'op': 'all_reduce', 'phase': 'last_backward', 'scope': 'groups',
                'messages': if(options->>'shard_size' IS NULL, 0, units), 'message_bytes': reduced_bytes
            }
        ] AS sent
    FROM sharded
),
final AS (
    SELECT session_id, case_name, unnest(sent, recursive := true)
        -- op: all_reduce, all_gather, reduce_scatter
        -- phase: phase that hides it: forward, backward, last_backward (of the last micro-batch)
        -- scope: participating ranks: all; shards: those of a shard group; groups: one rank of each group
        -- messages: messages per step, of equal size
        -- message_bytes: sum over all messages of the step; for scope groups before division by the ranks of a group
    FROM (
        SELECT session_id, case_name, sent FROM ddp UNION ALL SELECT session_id, case_name, sent FROM fsdp
    ) AS every_case
)
SELECT * REPLACE (messages::INTEGER AS messages) FROM final
WHERE messages > 0 AND message_bytes > 0;
