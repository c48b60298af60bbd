-- One row per validation of a run.
CREATE TABLE evals (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step INTEGER,                  -- optimizer steps done before it
    epoch DOUBLE,
    val_loss DOUBLE,
    val_accuracy DOUBLE,           -- fraction; null where the workload has none
    elapsed_s DOUBLE
);
