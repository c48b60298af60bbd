#!/usr/bin/env bash
# Load every session of a results folder by itself, write its page and tables, then join the tables.
#
#   sbatch --array=0-99 per_session.sh RESULTS OUT [IMAGE]   tasks share the sessions; OUT/sessions/SESSION is for one
#   sbatch per_session.sh RESULTS OUT [IMAGE]                afterwards: OUT/joined has each table of all sessions
#
# The script skips sessions that have not changed. Without IMAGE, it uses `bench` and `python` from PATH.
# Exit code: 0 all sessions are there; 1 a bad file was left out or a session is missing (it is named); 2 call it again
# after fixing the problem that it names.
#SBATCH --job-name=per-session
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=1:00:00
set -euo pipefail
shopt -s nullglob

# Tables and views that need no other session.
tables=(sessions run_summary coverage scaling efficiency_loss)

if [ $# -lt 2 ] || [ ! -d "$1" ]; then
  echo "call it as per_session.sh RESULTS OUT [IMAGE]; RESULTS is a results folder" >&2
  exit 2
fi
mkdir -p -- "$2/sessions" "$2/joined"
results=$(realpath -- "$1") out=$(realpath -- "$2")
inside=()
if [ $# -gt 2 ]; then inside=(apptainer exec --bind "$results" --bind "$out" "$(realpath -- "$3")"); fi

sessions=()
for folder in "$results"/*/; do
  of_runs=("$folder"*/run.json)
  if [ -e "$folder/session.json" ] || [ ${#of_runs[@]} -gt 0 ]; then sessions+=("$(basename -- "$folder")"); fi
done

# What tells whether a session has changed: names, sizes and times of its files.
files_of() { find "$results/$1" -type f -printf '%P %s %T@\n' | sort; }
is_up_to_date() { cmp --silent "$out/sessions/$1/files" <(files_of "$1"); }

# In a folder with a hidden name, which takes its place once it is whole.
summarise() {
  local new=$out/sessions/.$1 code=0
  rm -rf -- "$new" && mkdir -p -- "$new/results" && files_of "$1" >"$new/files" || return 2
  # Links cost nothing, but not every file system makes them; bench replaces files and never writes into one.
  cp -al -- "$results/$1" "$new/results" 2>/dev/null \
    || cp -a --remove-destination -- "$results/$1" "$new/results" || return 2
  "${inside[@]}" bench load "$new/results" 2>&1 | tee "$new/load.txt" || code=$?
  if [ $code -gt 1 ]; then return 2; fi
  if [ $code -eq 1 ]; then rm -- "$new/files"; fi # it is named again next time
  "${inside[@]}" bench report --results "$new/results" --out "$new" >/dev/null || return 2
  (cd -- "$new" && "${inside[@]}" python -c '
import sys
import duckdb, pyarrow.parquet as parquet

database = duckdb.connect("results/results.duckdb", read_only=True)
for table in sys.argv[1:]:
    parquet.write_table(database.table(table).to_arrow_table(), f"{table}.parquet", compression="zstd")
' "${tables[@]}") || return 2
  rm -rf -- "$new/results" "$new/index.html" "$out/sessions/$1" && mv -- "$new" "$out/sessions/$1" || return 2
  return $code
}

# Tables of today's sessions; one that was taken out of the results is taken out of them.
join() {
  local session code=0 made=()
  for session in "${sessions[@]}"; do
    if [ -e "$out/sessions/$session" ]; then made+=("$session"); fi
    if is_up_to_date "$session"; then continue; fi
    code=1
    if [ -e "$out/sessions/$session" ]; then
      echo "$session: has bad files, see $out/sessions/$session/load.txt, or has changed: submit the array again"
    else
      echo "$session: is not there: submit the array again"
    fi
  done
  if [ ${#made[@]} -eq 0 ]; then echo "no session of $results is in $out: submit the array first" >&2; return 2; fi
  cd -- "$out" || return 2
  printf '%s\n' "${made[@]}" | "${inside[@]}" python -c '
import sys
import pyarrow, pyarrow.parquet as parquet

made = sys.stdin.read().splitlines()
for table in sys.argv[1:]:
    of_sessions = [parquet.ParquetFile(f"sessions/{session}/{table}.parquet").read() for session in made]
    parquet.write_table(pyarrow.concat_tables(of_sessions), f"joined/{table}.parquet", compression="zstd")
' "${tables[@]}" || return 2
  echo "${#made[@]} of ${#sessions[@]} sessions are in $out/joined"
  return $code
}

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  code=0
  join || code=$?
  exit $code
fi
worst=0
for ((i = SLURM_ARRAY_TASK_ID - ${SLURM_ARRAY_TASK_MIN:?}; i < ${#sessions[@]}; i += SLURM_ARRAY_TASK_COUNT)); do
  session=${sessions[i]}
  if is_up_to_date "$session"; then echo "$session: nothing is new"; continue; fi
  echo "$session:"
  code=0
  summarise "$session" || code=$?
  if [ $code -gt 1 ]; then echo "$session: could not be summarised" >&2; fi
  worst=$((code > worst ? code : worst))
done
exit $worst
