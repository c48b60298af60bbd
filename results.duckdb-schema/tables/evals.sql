-- One row per validation of a run: every measure.validate_every steps, and after the last. No step contains it.
CREATE TABLE evals (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step INTEGER,                  -- optimizer steps done before it, warm-up included
    epoch DOUBLE,                  -- passes over the data done before it, a fraction
    val_loss DOUBLE,               -- mean over the held-out examples
    val_accuracy DOUBLE,           -- fraction; null where the workload has none
    elapsed_s DOUBLE               -- from the run's common barrier to its begin, earlier validations included
);
