#!/usr/bin/env bash
# start.sh [--foreground] [--again] RUN_FOLDER: starts one broker on two free loopback ports.
#   --foreground  becomes the broker (same process id) instead of returning when it is ready
#   --again       starts a stopped or killed broker again: same data, same ports
# KAFKA_SECURITY, if it is set, names a folder with a key and users: the broker then has a listener for each kind of security
# (`secure.properties.in`), and RUN_FOLDER has bootstrap-ssl, bootstrap-sasl-plaintext, bootstrap-sasl-ssl, bootstrap-mtls and
# bootstrap-expired.
# A file `tokens-verifier` in it has the address that knows the tokens of AWS IAM (`TokensOfAws`), which SASL_SSL then takes too.
# KAFKA_NODE, if it is set, is the broker's number in a cluster: KAFKA_PORT is then its port, and KAFKA_CONTROLLER that of the controller,
# which is in broker 1. The others are ready when that one is.
# Needs KAFKA_HOME (the folder that setup.sh prints). Leaves in RUN_FOLDER: pid, log, server.properties, bootstrap (host:port).
# Ready means that RUN_FOLDER/log has the line "Kafka Server started".
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "$0")/../lib.sh"
here=$REPOSITORY/scripts/kafka
foreground= again=
while [ $# -gt 1 ]; do
    case $1 in
    --foreground) foreground=1 ;;
    --again) again=1 ;;
    *) fail "unknown option $1" ;;
    esac
    shift
done
run=$1
[ -n "${KAFKA_HOME:-}" ] || fail "KAFKA_HOME is not set; it is the folder that scripts/kafka/setup.sh prints"

if [ -z "$again" ]; then
    rm -rf "$run"
    mkdir -p "$run"
fi
run=$(cd "$run" && pwd)
: >"$run/log"
if [ -z "$again" ]; then
    cp -r "$KAFKA_HOME/template" "$run/data"
    read -r client controller ssl sasl_plaintext sasl_ssl mtls expired < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(7)]
for each in sockets:
    each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in sockets])')
    if [ -n "${KAFKA_NODE:-}" ]; then
        client=$KAFKA_PORT
        controller=$KAFKA_CONTROLLER
        # The template is that of node 1. Without an id of its folder a broker makes one.
        sed -i -e "s#^node.id=.*#node.id=$KAFKA_NODE#" -e '/^directory.id=/d' "$run/data/meta.properties"
    fi
    sed -e "s#@CLIENT_PORT@#$client#g" -e "s#@CONTROLLER_PORT@#$controller#g" -e "s#@DATA@#$run/data#g" \
        "$here/server.properties.in" >"$run/server.properties"
    if [ -n "${KAFKA_NODE:-}" ]; then
        # Of two lines about one property the last one counts.
        sed -e "s#@NODE@#$KAFKA_NODE#g" "$here/cluster.properties.in" >>"$run/server.properties"
        if [ "$KAFKA_NODE" != 1 ]; then
            printf 'process.roles=broker\nlisteners=PLAINTEXT://127.0.0.1:%s\n' "$client" >>"$run/server.properties"
        fi
    fi
    printf '127.0.0.1:%s\n' "$client" >"$run/bootstrap"
    if [ -n "${KAFKA_SECURITY:-}" ]; then
        sed -e "s#@CLIENT_PORT@#$client#g" -e "s#@CONTROLLER_PORT@#$controller#g" -e "s#@SSL_PORT@#$ssl#g" \
            -e "s#@SASL_PLAINTEXT_PORT@#$sasl_plaintext#g" -e "s#@SASL_SSL_PORT@#$sasl_ssl#g" -e "s#@MTLS_PORT@#$mtls#g" \
            -e "s#@EXPIRED_PORT@#$expired#g" -e "s#@SECURITY@#$KAFKA_SECURITY#g" \
            -e "s#@PLAIN_USERS@#$(cat "$KAFKA_SECURITY/plain-users")#g" "$here/secure.properties.in" >>"$run/server.properties"
        if [ -f "$KAFKA_SECURITY/tokens-verifier" ]; then
            cat "$here/tokens.properties" >>"$run/server.properties"
        fi
        printf 'localhost:%s\n' "$ssl" >"$run/bootstrap-ssl"
        printf '127.0.0.1:%s\n' "$sasl_plaintext" >"$run/bootstrap-sasl-plaintext"
        printf 'localhost:%s\n' "$sasl_ssl" >"$run/bootstrap-sasl-ssl"
        printf 'localhost:%s\n' "$mtls" >"$run/bootstrap-mtls"
        printf 'localhost:%s\n' "$expired" >"$run/bootstrap-expired"
    fi
fi

classpath=$("$here/classpath.sh" "$KAFKA_HOME")
archive=()
tokens=()
if [ -n "${KAFKA_SECURITY:-}" ] && [ -f "$KAFKA_SECURITY/tokens-verifier" ]; then
    need javac "the check of tokens of AWS IAM"
    javac -cp "$classpath" -d "$run/classes" "$here/TokensOfAws.java"
    # At the end: the class-data archive is of the path before.
    classpath=$classpath:$run/classes
    tokens=("-Dtokens.verifier=$(cat "$KAFKA_SECURITY/tokens-verifier")")
fi
[ -f "$KAFKA_HOME/classes.jsa" ] && archive=("-XX:SharedArchiveFile=$KAFKA_HOME/classes.jsa")
# shellcheck disable=SC2206 # flags are words
extra=(${KAFKA_JVM_FLAGS:-})
command=(java -Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${archive[@]}" "${extra[@]}" "${tokens[@]}"
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn
    -Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info
    -cp "$classpath" kafka.Kafka "$run/server.properties")

cd "$run"
if [ -n "$foreground" ]; then
    printf '%s\n' $$ >"$run/pid"
    exec "${command[@]}" >"$run/log" 2>&1 </dev/null
fi
"${command[@]}" >"$run/log" 2>&1 </dev/null &
printf '%s\n' $! >"$run/pid"
for _ in $(seq 1200); do
    grep -q 'Kafka Server started' "$run/log" && exit 0
    kill -0 "$(cat "$run/pid")" 2>/dev/null || fail "the broker stopped: $(tail -n 20 "$run/log")"
    sleep 0.05
done
fail "the broker is not ready after 60 s: $(tail -n 20 "$run/log")"
