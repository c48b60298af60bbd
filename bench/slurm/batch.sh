#!/bin/bash
# %command
# Submit it with sbatch. Submitted again it goes on where it stopped, since the session's name stands below.
%sbatch

set -u
cd -P . # Apptainer does not see the folder through a link
%{warning}image=%image
results=$(realpath -m -- %results)
session=%session
folder=$results/$session
container=(apptainer exec --bind "$results"%binds)
for program in srun apptainer; do
    command -v "$program" > /dev/null || { echo "$program is not on PATH: load its module before sbatch" >&2; exit 2; }
done
[[ -e $image ]] || { echo "there is no image $image in $PWD" >&2; exit 2; }
mkdir -p -- "$folder" || exit 2

# What Slurm was asked for and what it gave; a container cannot ask it.
job=$folder/slurm-job-$SLURM_JOB_ID
scontrol --json show job "$SLURM_JOB_ID" > "$job.json" 2> /dev/null || {
    rm -f -- "$job.json"
    scontrol --oneliner show job "$SLURM_JOB_ID" > "$job.txt" || rm -f -- "$job.txt"
}

# Two minutes before the time limit Slurm sends USR1, to this shell alone. The file asks the session to stop: what was
# measured is kept.
trap 'signalled=1; touch -- "$folder/STOP"' USR1

srun --kill-on-bad-exit=0 --wait=0%srun "${container[@]}"%nv "$image" \
    bench suite %suite \
    --session "$session" --results "$results" --reserve 180 --no-load &
step=$!
signalled=1
while [[ -n $signalled ]]; do # a signal ends `wait` before the step has ended
    signalled=
    wait "$step"
    code=$?
done

# The memory that Slurm saw; only where the cluster keeps accounts.
steps=$folder/slurm-steps-$SLURM_JOB_ID.json
sacct --json --jobs "$SLURM_JOB_ID" > "$steps" 2> /dev/null || rm -f -- "$steps"

# Also where runs have failed: that is in the tables, too.
if [[ -e $folder/session.json ]]; then
    "${container[@]}" "$image" bench load "$results"
    "${container[@]}" "$image" bench summary "$session" --results "$results"
    "${container[@]}" "$image" bench report "$session" --results "$results" --out "$results/public"
fi
exit "$code"
