#!/usr/bin/env bash
# demo.sh: what `make demo` does: finds or installs a Terraform, builds, runs the demonstration. It needs less than the tests:
# no Kafka, no Java, no Python readers. Safe to repeat.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
cd "$REPOSITORY"
need cargo "building; install Rust 1.95 or newer"
need cc "building librdkafka and SQLite, which are C"
need perl "building OpenSSL"

terraform=$("$REPOSITORY/scripts/terraform.sh")
say "building the agent and the provider (some minutes the first time)"
cargo build --locked --workspace --bins
exec "${CARGO_TARGET_DIR:-target}/debug/demo" --terraform "$terraform"
