#!/usr/bin/env bash
# setup.sh: prepares Apache Spark with Delta in the cache and prints its folder as the last line. Safe to repeat.
# Makes bin/python (with PySpark) and delta-jars/ (only the jars that PySpark does not bring itself).
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "$0")/../lib.sh"
here=$REPOSITORY/scripts/spark
need java "Spark (Java 17 or newer)"

home=$FEATURESTORE_CACHE/spark-$(digest_of "$here/pom.xml" "$here/requirements.txt" "$here/setup.sh")
if [ ! -f "$home/ready" ]; then
    need mvn "fetching Delta for Spark"
    need python3 "running Spark"
    say "fetching Spark with Delta into $home (some 500 MB, a few minutes)"
    rm -rf "$home"
    mkdir -p "$FEATURESTORE_CACHE"
    python3 -m venv "$home"
    # Two downloads at once: Maven's takes as long as pip's building of the package.
    cp "$here/pom.xml" "$home/pom.xml"
    (cd "$home" && mvn -B -q dependency:copy-dependencies -DoutputDirectory=all-jars -DincludeScope=runtime) &
    maven=$!
    "$home/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check -r "$here/requirements.txt"
    wait "$maven"

    # An older Jackson or log4j beside PySpark's own would break it.
    without_version() { sed -E 's/-[0-9][0-9.]*\.jar$//'; }
    own_jars=$(find "$home"/lib/python3*/site-packages/pyspark/jars -name '*.jar' -printf '%f\n' | without_version | sort -u)
    mkdir -p "$home/delta-jars"
    for jar in "$home"/all-jars/*.jar; do
        grep -qxF -- "$(basename "$jar" | without_version)" <<<"$own_jars" || mv "$jar" "$home/delta-jars/"
    done
    rm -r "$home/all-jars"
    touch "$home/ready"
fi
printf '%s\n' "$home"
