#!/usr/bin/env bash
# setup.sh: prepares two schema registries in the cache and prints their folder as the last line. Safe to repeat.
#   small          franz-go's registry in memory with faults on demand: starts at once, checks nothing
#   runner.jar     Apicurio, which has Confluent's interface too: parses schemas and enforces rules, keeps what it has on disk
# No runnable Apicurio is published where these tests may fetch from, so Quarkus makes one from the published jars (real/pom.xml).
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "$0")/../lib.sh"
here=$REPOSITORY/scripts/registry
need java "the schema registry (Java 17 or newer)"

mapfile -t sources < <(find "$here/small" "$here/real" "$here/setup.sh" -type f | LC_ALL=C sort)
home=$FEATURESTORE_CACHE/registry-$(digest_of "${sources[@]}")
if [ ! -f "$home/ready" ]; then
    need go "building the small schema registry"
    need mvn "building the schema registry"
    need unzip "building the schema registry"
    say "building two schema registries in $home"
    rm -rf "$home"
    mkdir -p "$home"
    (cd "$here/small" && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -o "$home/small" .)

    cp -r "$here/real" "$home/build"
    cd "$home/build"
    mvn -B -q dependency:copy -Dartifact=io.apicurio:apicurio-registry-app:2.4.2.Final -DoutputDirectory=target/app
    mkdir -p src/main/resources
    # The settings that Apicurio is built with are inside its jar; Quarkus reads those of the module that it builds.
    {
        unzip -p target/app/apicurio-registry-app-2.4.2.Final.jar application.properties
        cat index.properties
    } >src/main/resources/application.properties
    mvn -B -q package -DskipTests
    mv target/test-registry-1-runner.jar "$home/runner.jar"
    mv target/lib "$home/lib"
    cd "$home"
    rm -rf "$home/build"
    touch "$home/ready"
fi
printf '%s\n' "$home"
