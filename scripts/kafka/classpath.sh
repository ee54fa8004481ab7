#!/usr/bin/env bash
# classpath.sh KAFKA_HOME: prints the broker's class path. Always the same text for the same jars: the class-data archive
# is only used with exactly the class path it was recorded with.
set -euo pipefail
find "$1/lib" -name '*.jar' | LC_ALL=C sort | paste -sd:
