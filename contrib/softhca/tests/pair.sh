#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs both ends of a verbs client that pairs up by TCP as ibv_rc_pingpong and perftest do:
#
#   pair.sh PROGRAM [ARGUMENT...]     a server, and a client that connects to it
#
# The port is one of loopback's that nobody uses. PAIR_PINNED=yes puts the server on core 0 and the
# client on core 1, PAIR_PINNED=crossed the other way round. The client's output is printed last, so
# that a caller finds its figures at the end. The status is that of the end that failed, 124 if the
# server never listened.

set -u
server_pid=
output=$(mktemp) || exit 99
trap 'test -n "$server_pid" && kill "$server_pid" 2>/dev/null; rm -f "$output"' EXIT

# Whether a TCP socket of this port exists; with a state, whether it is in it (0A: listening).
port_seen() { # PORT [STATE]
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
        awk -v port="$(printf ':%04X' "$1")" -v state="${2:-}" '
            index($2, port) == length($2) - 4 && (state == "" || $4 == state) { found = 1 }
            END { exit !found }'
}

# Below the range from which the kernel takes ports by itself.
free_port() {
    local port
    for _ in {1..200}; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        port_seen $port || { echo $port; return 0; }
    done
    echo "pair.sh: no free port between 20000 and 32000" >&2
    return 1
}

on_core() { # CORE COMMAND...
    local core=$1
    shift
    case ${PAIR_PINNED:-no} in
    yes) exec taskset -c "$core" "$@" ;;
    crossed) exec taskset -c $((1 - core)) "$@" ;;
    *) exec "$@" ;;
    esac
}

port=$(free_port) || exit 99
# SERVER_SIDE and CLIENT_SIDE name the physical ports of the two ends, if they are to be shared;
# SERVER_PORTS and CLIENT_PORTS give an end a device of so many ports, of which it takes the last.
(test -n "${SERVER_SIDE:-}" && export SOFTHCA_PORT=$SERVER_SIDE
    test -n "${SERVER_PORTS:-}" && export SOFTHCA_PORTS=$SERVER_PORTS
    on_core 0 "$@" ${SERVER_PORTS:+-i "$SERVER_PORTS"} -p "$port") >"$output" 2>&1 &
server_pid=$!
for _ in {1..200}; do
    port_seen "$port" 0A && break
    kill -0 "$server_pid" 2>/dev/null || break
    sleep 0.05
done
if ! port_seen "$port" 0A; then
    cat "$output"
    echo "pair.sh: the server never listened"
    exit 124
fi
client_status=0
server_status=0
client=$( (test -n "${CLIENT_SIDE:-}" && export SOFTHCA_PORT=$CLIENT_SIDE
    test -n "${CLIENT_PORTS:-}" && export SOFTHCA_PORTS=$CLIENT_PORTS
    on_core 1 "$@" ${CLIENT_PORTS:+-i "$CLIENT_PORTS"} -p "$port" 127.0.0.1) 2>&1) || client_status=$?
wait "$server_pid" || server_status=$?
server_pid=
printf '%s\n' "--- server, status $server_status" "$(cat "$output")" \
    "--- client, status $client_status" "$client"
test $client_status -eq 0 || exit $client_status
exit $server_status
