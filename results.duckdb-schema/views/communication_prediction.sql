-- One row per session, case and placement: the step time predicted from its communication (message_times), at the
-- measured placements and at the next four doublings of the largest. Computation comes from the case's smallest size;
-- docs/methodology/communication.md has the formulas. No rows unless some session has timed collectives on such a
-- device. throughput is the best estimate of the overlap; throughput_lo assumes no overlap and throughput_hi full
-- overlap, so they are not a confidence interval.
CREATE OR REPLACE VIEW communication_prediction AS
WITH suites AS (
    SELECT session_id, suite FROM sessions
),
-- throughput that corresponds to a speedup of 1 in this case.
baselines AS (
    SELECT session_id, case_name, any_value(throughput_of_one) AS throughput_of_one
    FROM law_points
    GROUP BY session_id, case_name
),
sizes AS (
    SELECT
        session_id, case_name, kind, world_size, nodes, ranks_per_node,
        sum(message_bytes) AS message_bytes,
        sum(messages) AS messages,
        coalesce(sum(time_s) FILTER (phase = 'forward'), 0) AS forward_sent_s,
        coalesce(sum(time_s) FILTER (phase = 'backward'), 0) AS gathered_s,
        coalesce(sum(time_s) FILTER (phase = 'last_backward'), 0) AS reduced_s,
        greatest(max(messages) FILTER (phase = 'last_backward' AND scope = 'ranks'), 1) AS pieces,
        CASE WHEN bool_and(fabric = 'measured') FILTER (messages > 0) THEN 'measured' ELSE 'extrapolated' END AS fabric,
        string_agg(DISTINCT fabric_session_id, ' ' ORDER BY fabric_session_id) FILTER (messages > 0)
            AS fabric_session_id
    FROM message_times
    GROUP BY session_id, case_name, kind, world_size, nodes, ranks_per_node
    HAVING count(time_s) = count(*)
    QUALIFY bool_or(world_size > 1) OVER (PARTITION BY session_id, case_name)
),
-- Computation of the smallest size, without its own exposed communication.
starts AS (
    SELECT
        session_id, case_name, scaling_mode, strategy, shard_size, micro_batches, examples_per_step,
        world_size AS start_ranks,
        nodes AS start_nodes,
        data_s AS start_data_s,
        optimizer_s AS start_optimizer_s,
        computation_of(forward_s, forward_sent_s, 0, micro_batches, pieces) AS start_forward_s,
        computation_of(backward_s, gathered_s, reduced_s, micro_batches, pieces) AS start_backward_s
    FROM communication_points
    JOIN sizes USING (session_id, case_name, world_size, nodes, ranks_per_node)
    WHERE kind = 'measured'
    QUALIFY row_number() OVER (PARTITION BY session_id, case_name ORDER BY world_size, nodes, ranks_per_node) = 1
),
computed AS (
    SELECT
        *,
        CASE WHEN scaling_mode = 'strong' THEN start_ranks / world_size ELSE 1 END AS examples_share,
        CASE
            WHEN strategy = 'ddp' THEN 1
            ELSE least(start_ranks, coalesce(shard_size, start_ranks))
                / least(world_size, coalesce(shard_size, world_size))
        END AS parameters_share,
        start_data_s * examples_share AS data_s,
        start_forward_s * examples_share AS forward_s,
        start_backward_s * examples_share AS backward_s,
        start_optimizer_s * parameters_share AS optimizer_s,
        data_s + forward_s + backward_s + optimizer_s AS computation_s
    FROM starts
    JOIN sizes USING (session_id, case_name)
),
-- Once each: no overlap, the best estimate, full overlap.
overlapped AS (
    SELECT
        *,
        [
            exposed_time_of(forward_sent_s, forward_s, k)
                + (micro_batches - 1) * exposed_time_of(gathered_s / micro_batches, backward_s / micro_batches, k)
                + exposed_time_of(gathered_s / micro_batches + reduced_s, backward_s / micro_batches, k)
            FOR k IN [1, pieces::DOUBLE, 'infinity'::DOUBLE]
        ] AS exposed_s,
        CASE WHEN scaling_mode = 'strong' THEN 1 ELSE world_size / start_ranks END * examples_per_step AS examples,
        [examples / (computation_s + exposed) FOR exposed IN exposed_s] AS throughputs
    FROM computed
),
measured AS (
    SELECT session_id, case_name, nodes, ranks_per_node, mean_throughput, has_fewest_nodes FROM communication_points
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode,
        'ranks' AS axis,
        strategy,
        kind,                                     -- measured, predicted
        world_size AS workers,
        nodes,                                    -- number of nodes used
        ranks_per_node,                           -- ranks per node, the same on every node
        throughputs[2] AS throughput,             -- best estimate of the overlap, in the unit of throughput
        throughputs[1] AS throughput_lo,          -- without overlap
        throughputs[3] AS throughput_hi,          -- with full overlap of all that can overlap
        mean_throughput AS measured_throughput,   -- in the unit of throughput; null if kind is predicted
        -- relative_error: of the prediction compared with the measurement; null if the prediction starts from it
        CASE
            WHEN (world_size, nodes) <> (start_ranks, start_nodes) THEN throughput / measured_throughput - 1
        END AS relative_error,
        throughput / throughput_of_one AS speedup,  -- as in scaling, over the measured baseline
        1e3 * computation_s AS computation_ms,    -- data, forward, backward and optimizer, without communication
        1e3 * (forward_sent_s + gathered_s + reduced_s) AS communication_ms,  -- all messages, one after the other
        1e3 * exposed_s[2] AS exposed_communication_ms,  -- exposed part of communication_ms, by the best estimate
        messages,                                 -- messages per rank and step
        message_bytes,                            -- sum over these messages, counted as in collectives
        if(messages > 0, fabric, NULL) AS fabric, -- measured: at this placement; extrapolated; null without messages
        fabric_session_id,                        -- session or sessions whose collectives were fitted
        throughput_of_one,                        -- throughput that corresponds to a speedup of 1 in this case
        -- has_fewest_nodes: whether it uses the fewest nodes of all placements with as many ranks
        coalesce(has_fewest_nodes, true) AS has_fewest_nodes
    FROM overlapped
    JOIN suites USING (session_id)
    LEFT JOIN baselines USING (session_id, case_name)
    LEFT JOIN measured USING (session_id, case_name, nodes, ranks_per_node)
)
SELECT * FROM final;
