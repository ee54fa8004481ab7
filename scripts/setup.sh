#!/usr/bin/env bash
# setup.sh: brings the real parts that the end-to-end tests use, and notes where they are in $FEATURESTORE_CACHE/test-parts.
# Safe to repeat: what is there and unchanged is left alone. Nothing is written outside the cache folder
# (Maven and pip keep their own caches where they always do).
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "$0")/lib.sh"
mkdir -p "$FEATURESTORE_CACHE"
# Two runs at once would write the same folders.
exec 9>"$FEATURESTORE_CACHE/setup.lock"
if ! flock -n 9; then
    say "waiting for another set-up, which has $FEATURESTORE_CACHE/setup.lock"
    flock 9
fi

terraform=$("$REPOSITORY/scripts/terraform.sh")

# By far the largest download: it goes on beside the others.
say "Spark"
# A process group of its own, so that Maven and pip end with it when something else fails. They keep the lock: after a
# `kill -9` of this script they still write.
setsid "$REPOSITORY/scripts/spark/setup.sh" >"$FEATURESTORE_CACHE/spark-setup.log" &
spark=$!
trap 'kill -- "-$spark" 2>/dev/null || true' EXIT

say "Kafka"
kafka_home=$("$REPOSITORY/scripts/kafka/setup.sh" | tee /dev/stderr | tail -n 1)

say "Schema registries"
registry_home=$("$REPOSITORY/scripts/registry/setup.sh" | tee /dev/stderr | tail -n 1)

say "Python readers and writers"
need python3 "reading tables with DuckDB and Polars, and writing messages with Confluent's serializers"
requirements=$REPOSITORY/tests/python/requirements.txt
python_home=$FEATURESTORE_CACHE/python-$(digest_of "$requirements")
if [ ! -f "$python_home/ready" ]; then
    say "installing $(grep -vc '^#' "$requirements") packages into $python_home"
    rm -rf "$python_home"
    python3 -m venv "$python_home"
    "$python_home/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
    touch "$python_home/ready"
fi

wait "$spark" || fail "Spark could not be prepared; see above"
trap - EXIT
spark_home=$(tail -n 1 "$FEATURESTORE_CACHE/spark-setup.log")

parts=$FEATURESTORE_CACHE/test-parts
printf 'kafka_home=%s\nregistry_home=%s\npython=%s\nspark=%s\nterraform=%s\n' \
    "$kafka_home" "$registry_home" "$python_home/bin/python" "$spark_home/bin/python" "$terraform" >"$parts.new"
mv "$parts.new" "$parts"
say "ready: $parts"
