-- One row per validation of a run: every measure.validate_every steps, and after the last step. They are not part of any
-- step. The pauses of commands are in `pauses`.
CREATE TABLE evals (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step INTEGER,                  -- optimizer steps completed before it, warm-up included
    epoch DOUBLE,                  -- passes over the data completed before it, a fraction
    val_loss DOUBLE,               -- mean over the held-out examples
    val_accuracy DOUBLE,           -- accuracy, or the score that runs.metric names; null if the workload has none
    elapsed_s DOUBLE,  -- from the run's common barrier to the start, with earlier validations; null if unknown
    validation_s DOUBLE            -- duration of the validation; null if unknown
);
