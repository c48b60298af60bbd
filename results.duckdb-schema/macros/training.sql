-- Time in a rank's step before it first waits for other ranks, in the unit of the phases; null for strategies whose
-- waits are unknown. DDP ranks meet in backward. FSDP ranks meet in forward to gather parameters, and their optimizer
-- may wait for the gradient norm, so only data loading is the rank's own time. In a command whose ranks
-- train one model, only the wait for data is known.
CREATE OR REPLACE MACRO before_wait_of(strategy, ranks_train, data, forward) AS (
    CASE
        WHEN strategy = 'ddp' THEN data + forward
        WHEN strategy IN ('fsdp', 'fsdp1') OR strategy = 'command' AND ranks_train = 'one model' THEN data
    END
);

-- Bytes of model, gradients and optimizer state if every rank holds all of them, from the number of parameters and the
-- `train` settings of a run. All are fp32 in every precision; activations are extra. Adam and AdamW keep two numbers
-- per parameter, SGD with momentum one; a moving average adds one. Null for other optimizers.
CREATE OR REPLACE MACRO state_bytes_of(parameters, train) AS (
    4 * parameters * (
        2
        + CASE
            WHEN train ->> '$.optimizer' IN ('adam', 'adamw') THEN 2
            WHEN train ->> '$.optimizer' <> 'sgd' THEN NULL
            WHEN try_cast(train ->> '$.momentum' AS DOUBLE) > 0 THEN 1
            ELSE 0
        END
        + if(train ->> '$.ema_decay' IS NULL, 0, 1)
    )
);
