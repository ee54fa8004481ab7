#!/usr/bin/env bash
# start.sh [--again] RUN_FOLDER: becomes an Apicurio registry on a free loopback port, with its data in RUN_FOLDER.
#   --again  starts a stopped or killed one again: same data, same port
# REGISTRY_USER, if it is set, is the `user:password` without which nothing is answered.
# What it has answered outlives a kill: WRITE_DELAY=0, or its database keeps it back for half a second.
# Needs REGISTRY_HOME (the folder that setup.sh prints). Leaves in RUN_FOLDER: port, log. Ready means that the port answers.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "$0")/../lib.sh"
again=
if [ "${1:-}" = --again ]; then
    again=1
    shift
fi
run=$1
[ -n "${REGISTRY_HOME:-}" ] || fail "REGISTRY_HOME is not set; it is the folder that scripts/registry/setup.sh prints"
if [ -z "$again" ]; then
    rm -rf "$run"
    mkdir -p "$run"
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >"$run/port"
fi
run=$(cd "$run" && pwd)
cd "$run"
exec java -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    -Dquarkus.http.host=127.0.0.1 -Dquarkus.http.port="$(cat port)" -Dregistry.user="${REGISTRY_USER:-}" \
    -Dquarkus.datasource.jdbc.url="jdbc:h2:file:$run/data;DB_CLOSE_ON_EXIT=FALSE;WRITE_DELAY=0" \
    -Dquarkus.datasource.jdbc.min-size=2 -Dquarkus.datasource.jdbc.initial-size=2 -Dquarkus.datasource.jdbc.max-size=10 \
    -Dregistry.rules.global=none -jar "$REGISTRY_HOME/runner.jar" >"$run/log" 2>&1 </dev/null
