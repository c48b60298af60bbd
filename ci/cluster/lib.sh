# Sourced by the scripts in this folder and by ci/image.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/scalebench   # survives the checkout: root folder, bases, images
user_id=1000                                       # id of the ordinary user inside the cluster

say() { printf '%s\n' "$*" >&2; }

need_root() {
  if [ "$(id -u)" -eq 0 ]; then return; fi
  say "${0##*/}: call it as root: it makes namespaces, mounts and device nodes"
  exit 2
}

# Install a program from the Debian package of the same name, if it is missing.
need_program() {
  if command -v "$1" >/dev/null; then return; fi
  if ! command -v apt-get >/dev/null; then say "${0##*/}: $1 is not on PATH: install it"; exit 2; fi
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
}
