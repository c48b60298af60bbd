-- The bus bandwidth of an operation over n ranks divided by its algorithm bandwidth, as nccl-tests defines them
-- (its doc/PERFORMANCE.md); null for an operation that has none.
CREATE OR REPLACE MACRO bus_factor_of(op, n) AS (
    CASE op
        WHEN 'all_reduce' THEN 2 * (n - 1) / n
        WHEN 'all_gather' THEN (n - 1) / n
        WHEN 'reduce_scatter' THEN (n - 1) / n
        WHEN 'broadcast' THEN 1
    END
);
