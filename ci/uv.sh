# Sourced by ci/quickstart and ci/test. Sets $root, $python and $uv; needs neither root nor a system-wide install.
#
# find_python   a Python >= 3.11, or a message and exit 2
# find_uv       a uv that reads our lock; installed through pip if there is none

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv_folder=$root/.venv-uv   # our own uv, if the machine has none; ignores itself in git
uv_oldest=0.7.0            # the first that reads the lock's revision without complaint

say() { printf '%s\n' "$*" >&2; }

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
    python=$(command -v "$candidate") || continue
    # A program can exist and not work (a version manager's shim), hence the call.
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
  done
  say "No Python 3.11 or newer on PATH: install one (Debian, Ubuntu: apt install python3; a cluster: module load python)"
  say "and call this again, with its folder first on PATH."
  exit 2
}

# True if $1 is a uv that is new enough.
uv_works() {
  local version
  version=$("$1" --version 2>/dev/null) || return 1
  version=${version#uv } version=${version%% *}
  [ "$(printf '%s\n' "$uv_oldest" "$version" | sort -V | head -n1)" = "$uv_oldest" ]
}

# Ways to install uv, the least intrusive first. An "externally managed" system Python refuses the plain ways; Debian's
# lacks ensurepip, which venv needs, unless python3-venv is installed; some have no pip.
uv_by_venv() { "$python" -m venv "$uv_folder" && "$uv_folder/bin/python" -m pip install --quiet uv; }
uv_by_target() { "$python" -m pip install --quiet --upgrade --target "$uv_folder" uv; }
uv_by_user() { "$python" -m pip install --quiet --user uv || "$python" -m pip install --quiet --user --break-system-packages uv; }

find_uv() {
  local way log candidates
  candidates=("$(command -v uv || true)" "$root/.venv/bin/uv" "$uv_folder/bin/uv" "$HOME/.local/bin/uv")
  for uv in "${candidates[@]}"; do
    if [ -n "$uv" ] && uv_works "$uv"; then return; fi
  done
  log=$(mktemp)
  for way in uv_by_venv uv_by_target uv_by_user; do
    rm -rf "$uv_folder"
    mkdir -p "$uv_folder"
    "$way" >>"$log" 2>&1 || continue
    echo '*' >"$uv_folder/.gitignore"
    for uv in "$uv_folder/bin/uv" "$("$python" -m site --user-base 2>/dev/null)/bin/uv"; do
      if uv_works "$uv"; then
        say "installed uv: $uv"
        rm -f "$log"
        return
      fi
    done
  done
  rm -rf "$uv_folder"
  say "uv could not be installed through $python; what was tried:"
  tail -n 20 "$log" >&2
  rm -f "$log"
  say "Install uv by hand (https://docs.astral.sh/uv/getting-started/installation/) and call this again."
  exit 2
}

# Make .venv match uv.lock; arguments go to uv sync. An existing .venv keeps its Python.
sync_venv() {
  local chosen=$python bytecode=--no-compile-bytecode
  if [ -x "$root/.venv/bin/python" ]; then chosen=$root/.venv/bin/python; fi
  # Python caches bytecode itself. If that is turned off, every start would compile torch again, so compile it here.
  if [ -n "${PYTHONDONTWRITEBYTECODE:-}" ]; then bytecode=--compile-bytecode; fi
  UV_PROJECT_ENVIRONMENT=$root/.venv "$uv" sync --quiet --project "$root" --python "$chosen" --no-python-downloads \
    --locked "$bytecode" "$@"
}
