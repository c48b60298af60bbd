-- Arguments of `bench suite` that set a case's key to a value: `--set cases.NAME.KEY=VALUE`. For a case that a matrix
-- made, NAME omits the matrix's choice. Null if the matrix varies the key itself or a key above it, or if no suite file
-- could use this name.
CREATE OR REPLACE MACRO option_of(case_name, key, value) AS (
    CASE
        WHEN len([part FOR part IN string_split(key, '.') IF contains(case_name, '~' || part || '=')]) = 0
            AND regexp_full_match(split_part(case_name, '~', 1), '[a-z0-9_-]+')
        THEN format('--set cases.{}.{}={}', split_part(case_name, '~', 1), key, value)
    END
);

-- Arguments of `bench suite` that set the key to a value in each of these cases (`compared` of compared_cases), as
-- option_of does. Changing only one case would compare it with a different setting. Null if option_of is null for
-- one of them.
CREATE OR REPLACE MACRO option_of_all(compared, key, value) AS (
    list_reduce(
        [option_of(each_one.case_name, key, value) FOR each_one IN compared],
        lambda first, second: first || ' ' || second
    )
);

-- Arguments of `bench suite` that multiply the batch of each of these cases (`compared` of compared_cases) by a
-- factor, as option_of does. Changing only one case would compare it with a different training. Null if option_of
-- is null for one of them.
CREATE OR REPLACE MACRO batch_option_of(compared, factor) AS (
    list_reduce(
        [
            option_of(each_one.case_name, each_one.batch_key, (factor * each_one.batch)::BIGINT)
            FOR each_one IN compared
        ],
        lambda first, second: first || ' ' || second
    )
);

-- Argument of `bench suite` that gives the case another strategy with its default options, as option_of does. Null
-- if the case's matrix varies an option of the current strategy, which another strategy would not accept.
CREATE OR REPLACE MACRO strategy_option_of(case_name, strategy_options, new_strategy) AS (
    CASE
        WHEN NOT list_has_any(
            regexp_extract_all(case_name, '~([^~=]+)=', 1),
            list_append(coalesce(json_keys(strategy_options), []::VARCHAR[]), 'name')
        ) THEN option_of(case_name, 'strategy', new_strategy)
    END
);

-- Advice in the words of a command's author: names of torch instead of keys of a suite.
CREATE OR REPLACE MACRO words_of_a_command(advice) AS (
    list_reduce(
        [
            ['', advice],
            ['data.workers', 'num_workers of its DataLoader'],
            ['data.prefetch', 'prefetch_factor'],
            ['train.compile', 'torch.compile'],
            ['train.fused_optimizer', 'an optimizer with fused=True'],
            ['train.precision=bf16', 'autocast in bfloat16'],
            ['train.accumulate', 'gradient accumulation'],
            ['train.checkpointing', 'activation checkpointing'],
            ['train.clip_norm', 'clip_grad_norm_'],
            ['measure.timeout_s', '--timeout'],
            ['measure.garbage_collection=frozen', 'gc.freeze() after the first steps']
        ],
        lambda said, word: ['', replace(said[2], word[1], word[2])]
    )[2]
);

-- Argument of `bench suite` that profiles some steps after the measured ones; it changes no other figure.
CREATE OR REPLACE MACRO profile_option() AS ('--set measure.profiled=4');
