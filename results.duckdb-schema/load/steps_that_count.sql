-- Rows of `steps` in the files of a load, without the measured steps that runs.counted_steps leaves out.
SELECT found.*
FROM steps_of_files AS found
LEFT JOIN runs USING (session_id, run_id, attempt)
WHERE kind <> 'measured' OR counted_steps IS NULL
    OR step < counted_steps + (config -> 'measure' ->> 'warmup')::INTEGER
