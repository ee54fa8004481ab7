#!/usr/bin/env bash
# stop.sh RUN_FOLDER: ends the broker that start.sh began there, by force after 30 s.
set -euo pipefail
pid=$(cat "$1/pid")
kill "$pid" 2>/dev/null || exit 0
for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || exit 0
    sleep 0.1
done
kill -9 "$pid"
