# Shared by the scripts beside it: where things are kept, and how to say what happens. Sourced, never run.
# Everything that is downloaded or generated lives in one cache folder outside the clone.

FEATURESTORE_CACHE=${FEATURESTORE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/featurestore}
REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '[%s] %s\n' "$(basename "$0")" "$*"; }

fail() {
    printf '[%s] error: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

need() { # need COMMAND WHAT-IT-IS-FOR
    command -v "$1" >/dev/null 2>&1 || fail "\`$1\` is not on PATH; it is needed for $2"
}

# A short name for the contents of some files: a folder that carries it is remade when one of them changes.
digest_of() { cat "$@" | sha256sum | cut -c1-12; }
