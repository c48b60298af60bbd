#!/bin/bash
# %command
# Submit it with sbatch. It measures two images in turn, each time as a separate session, and compares them. Submit it
# again to continue where it stopped: the sessions' names are derived from the one below.
%sbatch

set -u
cd -P . || exit 2 # Apptainer cannot resolve a link to the folder
%{warning}declare -A images=([a]=%image_a [b]=%image_b)
results=$(realpath -m -- %results)
name=%session
rounds=%rounds
container=(apptainer exec --bind "$results"%binds)
for program in srun apptainer; do
    command -v "$program" > /dev/null || { echo "$program is not on PATH: load its module before sbatch" >&2; exit 2; }
done
for image in "${images[@]}"; do
    [[ -e $image ]] || { echo "there is no image $image in $PWD" >&2; exit 2; }
done

stopped=
started=0
sessions=()

# Measure a session of image a or b, or the rest of it.
measure() { # a|b ROUND
    image=${images[$1]}
    session=$name-$1-r$2
    folder=$results/$session
    mkdir -p -- "$folder" || exit 2

%step

    if [[ -e $folder/session.json ]]; then sessions+=("$session"); fi
    started=$((started + 1))
}

worst=0
for ((round = 1; round <= rounds; round++)); do
    order=(a b)
    if ((round %% 2 == 0)); then order=(b a); fi # so that drift favours neither image
    for side in "${order[@]}"; do
        measure "$side" "$round"
        if ((code > worst)); then worst=$code; fi
        # 1: a run failed, the others count. After 2, or a stop, the next session would end the same way.
        if ((code > 1)) || [[ -n $stopped ]]; then break 2; fi
    done
done

# The last session may have finished before it saw the signal.
if [[ -n $stopped ]] && ((started < 2 * rounds && worst <= 1)); then
    echo "stopped after $started of $((2 * rounds)) sessions: submitted again this script measures the others" >&2
    worst=143
fi

# Also after failed runs or missing rounds: they are in the tables, too.
if ((${#sessions[@]})); then
    bench=("${container[@]}" "${images[b]}" bench)
    "${bench[@]}" load "$results"
    "${bench[@]}" compare "tag:$name-a" "tag:$name-b" --results "$results"
    "${bench[@]}" report "${sessions[@]}" --results "$results" --out "$results/public"
fi
exit "$worst"
