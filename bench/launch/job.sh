#!/bin/bash
# %command
# %how
# Call it again to continue where it stopped: the session's name is set below.
%head
set -u
cd -P "%folder" || exit 2 # Apptainer cannot resolve a link to the folder
%{warning}image=%image
results=$(realpath -m -- %results)
session=%session
container=(apptainer exec --bind "$results"%binds)
for program in mpiexec apptainer; do
    command -v "$program" > /dev/null || { echo "$program is not on PATH: load its module first" >&2; exit 2; }
done
[[ -e $image ]] || { echo "there is no image $image in $PWD" >&2; exit 2; }
mkdir -p -- "$results/$session" || exit 2

# One task on each node, which may use all of its cores.
case $(mpiexec --version 2>&1) in
    *"Open MPI"* | *OpenRTE* | *PRRTE*) each_node=(--map-by ppr:1:node --bind-to none) ;;
    *[Pp][Aa][Ll][Ss]*) each_node=(--ppn 1 --cpu-bind none) ;;
    *) each_node=(-ppn 1) ;; # MPICH, Intel MPI
esac
%stop
mpiexec -n %nodes "${each_node[@]}" "$@" "${container[@]}"%nv "$image" \
    bench suite %suite --session "$session" --results "$results" --no-load
code=$?

# Also after failed runs: they are in the tables, too.
if [[ -e $results/$session/session.json ]]; then
    "${container[@]}" "$image" bench load "$results"
    "${container[@]}" "$image" bench summary "$session" --results "$results"
    "${container[@]}" "$image" bench report "$session" --results "$results" --out "$results/public"
fi
exit "$code"
