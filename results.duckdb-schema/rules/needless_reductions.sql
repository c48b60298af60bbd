-- title: Gradients are reduced several times in a step
-- severity: warning
-- meaning: DistributedDataParallel reduces all gradients over the ranks in every backward pass. If a command accumulates
--   gradients over several micro-batches, only their sum matters, and all reductions but the last are for nothing.
--
-- Fires for a command with one optimizer and one model, in DistributedDataParallel, if every profiled step of every rank
-- all-reduces the bytes of all gradients a whole number of times, twice or more, to within 0.02, in at least as many
-- calls, and the batch of a rank divides into as many micro-batches. Gradients count as fp32. Twice the bytes may also
-- be one reduction in fp64, so there must then be more calls than one reduction has with DDP's usual buckets. It does
-- not fire for LBFGS, which needs the gradients of each backward pass, nor if a group has only some of the ranks.
WITH reduced AS (
    SELECT session_id, run_id, attempt, min(message_bytes) AS sent_bytes, min(calls) AS least_calls
    FROM profile
    LEFT JOIN (FROM profile_collectives WHERE op = 'all_reduce') AS sent
        USING (session_id, run_id, attempt, rank, step)
    GROUP BY session_id, run_id, attempt
    HAVING count(message_bytes) = count(*)
),
in_parts AS (
    SELECT DISTINCT session_id, run_id, attempt
    FROM profile_groups
    JOIN runs USING (session_id, run_id, attempt)
    WHERE ranks < world_size
),
places AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        min(sent_bytes) AS message_bytes,
        min(least_calls) AS calls,
        min(batch_per_rank) AS batch_per_rank,
        max(4 * parameters) AS gradient_bytes,
        round(message_bytes / gradient_bytes)::BIGINT AS reductions
    FROM runs
    JOIN reduced USING (session_id, run_id, attempt)
    ANTI JOIN in_parts USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND world_size > 1
        AND (recorded_by ->> '$.forward') = 'calls of DistributedDataParallel'
        -- with other optimizers, or in a step that the command ends itself, each reduction may have its own update
        AND (recorded_by ->> '$.step') = 'step() of ' || (recorded_by ->> '$.optimizers')
        AND (recorded_by ->> '$.optimizers') <> 'LBFGS'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
losses AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, share, share_lo, share_hi
    FROM efficiency_loss
    WHERE term = 'communication' AND is_decided AND share > 0 AND NOT oversubscribed
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    share * (1 - 1 / reductions) AS cost,
    reductions AS magnitude,
    format(
        'gradients are reduced {} times per optimizer step, counted in fp32: {} MiB in place of {} MiB',
        reductions,
        number_text(message_bytes / 2 ** 20), number_text(gradient_bytes / 2 ** 20)
    ) || coalesce(
        format('; exposed communication is {} of the ranks'' time', share_text(share, share_lo, share_hi)), ''
    ) AS evidence,
    'Wrap forward and backward of all but the last micro-batch of a step in model.no_sync(), which leaves one reduction '
    || 'per optimizer step.' AS advice
FROM places
LEFT JOIN losses USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE reductions >= 2 AND abs(message_bytes / gradient_bytes - reductions) <= 0.02
    AND calls >= reductions AND batch_per_rank % reductions = 0
    -- a bucket is full at 25 MiB, the first one at 1 MiB
    AND (reductions > 2 OR calls > 1 + ceil(greatest(message_bytes - 2 ** 20, 0) / (25 * 2 ** 20)))
