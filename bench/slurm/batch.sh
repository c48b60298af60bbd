#!/bin/bash
# %command
# Submit it with sbatch. Submit it again to continue where it stopped: the session's name is set below.
%sbatch

set -u
cd -P . || exit 2 # Apptainer cannot resolve a link to the folder
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

%step

# Also after failed runs: they are in the tables, too.
if [[ -e $folder/session.json ]]; then
    "${container[@]}" "$image" bench load "$results"
    "${container[@]}" "$image" bench summary "$session" --results "$results"
    "${container[@]}" "$image" bench report "$session" --results "$results" --out "$results/public"
fi
exit "$code"
