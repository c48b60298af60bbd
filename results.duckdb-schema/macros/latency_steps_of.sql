-- The messages that follow each other in one operation over n ranks: each waits for the one before, so that latency
-- grows with their number. algorithm: ring, tree; null for what has no tree.
CREATE OR REPLACE MACRO latency_steps_of(op, n, algorithm) AS (
    CASE
        WHEN algorithm = 'ring' THEN CASE WHEN op = 'all_reduce' THEN 2 * (n - 1) ELSE n - 1 END
        WHEN op = 'all_reduce' THEN 2 * log2(n)
        WHEN op = 'broadcast' THEN log2(n)
    END
);
