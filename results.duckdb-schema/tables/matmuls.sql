-- One row per timed matrix multiplication of a rank, m x k by k x n.
CREATE TABLE matmuls (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    precision VARCHAR,             -- fp32, tf32, bf16, fp16
    iteration INTEGER,             -- 0-based
    m BIGINT,                      -- rows of the product
    n BIGINT,                      -- columns of the product
    k BIGINT,                      -- length of the sums
    time_ns BIGINT,                -- time of one multiplication
    flops_per_s DOUBLE             -- 2 m n k ÷ time
);
