-- Bus bandwidth of an operation over n ranks divided by its algorithm bandwidth, as nccl-tests defines them
-- (doc/PERFORMANCE.md there); null for other operations.
CREATE OR REPLACE MACRO bus_factor_of(op, n) AS (
    CASE op
        WHEN 'all_reduce' THEN 2 * (n - 1) / n
        WHEN 'all_gather' THEN (n - 1) / n
        WHEN 'reduce_scatter' THEN (n - 1) / n
        WHEN 'broadcast' THEN 1
    END
);

-- Number of messages in one operation over n ranks that must follow one another; latency grows with it. algorithm: ring
-- or tree; null for operations without a tree.
CREATE OR REPLACE MACRO latency_steps_of(op, n, algorithm) AS (
    CASE
        WHEN algorithm = 'ring' THEN CASE WHEN op = 'all_reduce' THEN 2 * (n - 1) ELSE n - 1 END
        WHEN op = 'all_reduce' THEN 2 * log2(n)
        WHEN op = 'broadcast' THEN log2(n)
    END
);

-- Seconds that one operation takes over n ranks by the ring or tree formula: the latency of the consecutive messages
-- plus the transfer time on the slowest link. A tree sends an all_reduce up and down, so its bytes count twice.
-- algorithm: ring or tree; null for operations without a tree.
CREATE OR REPLACE MACRO communication_time_of(op, message_bytes, n, step_latency_s, bus_bytes_per_s, algorithm) AS (
    latency_steps_of(op, n, algorithm) * step_latency_s
        + CASE WHEN algorithm = 'tree' AND op = 'all_reduce' THEN 2 ELSE bus_factor_of(op, n) END
            * message_bytes / bus_bytes_per_s
);

-- The part of communication that computation does not hide. Communication is split into equal pieces that computation
-- makes ready one after another at equal intervals. At least the last piece is exposed, plus any part for which
-- computation is too short. With one piece nothing overlaps; with infinitely many everything does.
CREATE OR REPLACE MACRO exposed_time_of(communication, computation, pieces) AS (
    greatest(communication / pieces, communication - computation * (1 - 1 / pieces))
);

-- Seconds of computation in a phase that was measured together with its exposed communication: the inverse of
-- exposed_time_of. gathered: communication that is the same in every micro-batch; reduced: communication of the last
-- micro-batch only; both for a whole step. Each exposed part is the larger of two linear functions, so the phase is the
-- largest of four, and its inverse is the smallest of four.
CREATE OR REPLACE MACRO computation_of(phase, gathered, reduced, micro_batches, pieces) AS (
    micro_batches * greatest(0, least(
        (phase - (gathered + reduced) / pieces) / micro_batches,
        (phase - gathered * (1 - 1 / micro_batches) - (gathered / micro_batches + reduced) / pieces)
            / ((micro_batches - 1) / pieces + 1),
        (phase - gathered * (1 - 1 / micro_batches) / pieces - gathered / micro_batches - reduced)
            / (micro_batches - 1 + 1 / pieces),
        (phase - gathered - reduced) / (micro_batches / pieces)
    ))
);

-- Bytes per element of a dtype or precision in transfer; tf32 has 4, because it only rounds inside multiplications.
CREATE OR REPLACE MACRO element_bytes_of(dtype) AS (
    CASE WHEN dtype IN ('bf16', 'fp16') THEN 2 ELSE 4 END
);

-- Least time of a step with half the message bytes ÷ that of the step as it is, between ½ and 1; null if `ratio` is
-- null. `ratio`: of a step with `factor` times the bytes, above 1. The time is a convex function of the bytes.
CREATE OR REPLACE MACRO least_ratio_of_half(ratio, factor) AS (
    CASE WHEN ratio IS NOT NULL THEN greatest(0.5, least(1, 1 - 0.5 * (ratio - 1) / (factor - 1))) END
);
