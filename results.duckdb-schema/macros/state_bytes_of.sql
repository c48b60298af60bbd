-- The bytes of model, gradients and optimizer state where every rank holds all of them, from the number of parameters
-- and the settings `train` of a run: fp32 throughout, as this trains in every precision. Activations come on top. Adam
-- and AdamW keep two numbers for each parameter, SGD one with momentum; a moving average is one more.
CREATE OR REPLACE MACRO state_bytes_of(parameters, train) AS (
    4 * parameters * (
        2
        + CASE WHEN train ->> '$.optimizer' <> 'sgd' THEN 2
            WHEN try_cast(train ->> '$.momentum' AS DOUBLE) > 0 THEN 1 ELSE 0 END
        + if(train ->> '$.ema_decay' IS NULL, 0, 1)
    )
);
