#!/bin/bash
# %command
# Submit it with sbatch. It measures two images in turn, each time as a session of its own, and compares them. Submitted
# again it goes on where it stopped, since the sessions' names follow from the one below.
%sbatch

set -u
cd -P . || exit 2 # Apptainer does not see the folder through a link
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

# A session of the image a or b, or the rest of it.
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
    if ((round %% 2 == 0)); then order=(b a); fi # what drifts favours neither
    for side in "${order[@]}"; do
        measure "$side" "$round"
        if ((code > worst)); then worst=$code; fi
        # 1: a run failed, the others count. With 2, or where it was stopped, the next would fare no better.
        if ((code > 1)) || [[ -n $stopped ]]; then break 2; fi
    done
done

# A session may have been done by the time that it saw the signal.
if [[ -n $stopped ]] && ((started < 2 * rounds && worst <= 1)); then
    echo "stopped after $started of $((2 * rounds)) sessions: submitted again this script measures the others" >&2
    worst=143
fi

# Also where runs have failed or rounds are missing: that is in the tables, too.
if ((${#sessions[@]})); then
    bench=("${container[@]}" "${images[b]}" bench)
    "${bench[@]}" load "$results"
    "${bench[@]}" compare "tag:$name-a" "tag:$name-b" --results "$results"
    "${bench[@]}" report "${sessions[@]}" --results "$results" --out "$results/public"
fi
exit "$worst"
