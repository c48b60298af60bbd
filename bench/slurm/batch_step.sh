# Remove texts that may contain a secret: the submit line, the command and comments.
discreet() (
    set -o pipefail
    "$@" | sed -E -e 's/("(submit_line|comment|[a-z]+_comment|administrator|job|system|extra|command)": *)"([^"\\]|\\.)*"/\1""/g' \
        -e 's/ Command=.* WorkDir=/ WorkDir=/' -e 's/ (Admin|System)?Comment=.* StdErr=/ StdErr=/'
)

# Store Slurm's record of the job: a container cannot ask Slurm.
job=$folder/slurm-job-$SLURM_JOB_ID
discreet scontrol --json show job "$SLURM_JOB_ID" > "$job.json" 2> /dev/null || {
    rm -f -- "$job.json"
    discreet scontrol --oneliner show job "$SLURM_JOB_ID" > "$job.txt" || rm -f -- "$job.txt"
}

# Two minutes before the time limit Slurm sends USR1, only to this shell. The file asks the session to stop;
# everything measured is kept.
trap '%{signalled}touch -- "$folder/STOP"' USR1

srun --kill-on-bad-exit=0 --wait=0%srun "${container[@]}"%nv "$image" \
    bench suite %suite \
    --session "$session" --results "$results" --reserve 180 --no-load &
step=$!
signalled=1
while [[ -n $signalled ]]; do # a signal ends `wait` before the step ends
    signalled=
    wait "$step"
    code=$?
done

# Peak memory by Slurm; only if the cluster keeps accounts.
steps=$folder/slurm-steps-$SLURM_JOB_ID.json
discreet sacct --json --jobs "%accounted" > "$steps" 2> /dev/null || rm -f -- "$steps"
