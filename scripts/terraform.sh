#!/usr/bin/env bash
# terraform.sh: checks that a real Terraform, 1.11 or newer, is on PATH. Older ones do not know write-only attributes.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
command -v terraform >/dev/null 2>&1 ||
    fail "\`terraform\` is not on PATH; the end-to-end tests run the real one: install Terraform 1.11 or newer"
version=$(CHECKPOINT_DISABLE=1 terraform version -json 2>/dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["terraform_version"])')
IFS=. read -r major minor _ <<<"$version"
if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt 11 ]; }; then
    fail "terraform on PATH is $version; 1.11 or newer is needed (write-only attributes)"
fi
say "Terraform $version at $(command -v terraform)"
