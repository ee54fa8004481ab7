#!/usr/bin/env bash
# setup.sh: prepares an Apache Kafka broker in the cache and prints its folder as the last line. Safe to repeat.
# Makes lib/ (jars by Maven), template/ (a formatted data folder) and classes.jsa (class-data archive: halves the start).
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "$0")/../lib.sh"
here=$REPOSITORY/scripts/kafka
need java "the Kafka broker (Java 17 or newer)"

home=$FEATURESTORE_CACHE/kafka-$(digest_of "$here/pom.xml" "$here/server.properties.in" "$here/setup.sh")
if [ ! -f "$home/ready" ]; then
    need mvn "fetching Apache Kafka"
    need python3 "finding free ports"
    say "fetching Apache Kafka with Maven into $home"
    rm -rf "$home"
    mkdir -p "$home"
    cp "$here/pom.xml" "$home/pom.xml"
    (cd "$home" && mvn -B -q dependency:copy-dependencies -DoutputDirectory=lib -DincludeScope=runtime)

    say "formatting the data folder that every broker starts from"
    sed -e 's#@CLIENT_PORT@#19092#g' -e 's#@CONTROLLER_PORT@#19093#g' -e "s#@DATA@#$home/template#g" \
        "$here/server.properties.in" >"$home/format.properties"
    java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$("$here/classpath.sh" "$home")" \
        kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAQ -c "$home/format.properties" >"$home/format.log"

    say "recording the class-data archive"
    KAFKA_HOME=$home KAFKA_JVM_FLAGS="-XX:ArchiveClassesAtExit=$home/classes.jsa" "$here/start.sh" "$home/first-run"
    "$here/stop.sh" "$home/first-run"
    rm -rf "$home/first-run"
    touch "$home/ready"
fi
printf '%s\n' "$home"
