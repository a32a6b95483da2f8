#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Counts the instructions that the component spends on a message of 8 bytes, sent and received, by a
# ring and over send/receive: glue, core and verbs/ together, and what the (emulated) adapter's library
# takes for the verbs that these call; not Open MPI. One rank of a ping-pong runs under callgrind. Passes
# of progress that find nothing are taken off: what such a pass costs is found by letting the rank wait.
# One that finds nothing while the adapter is at work on a message takes longer, and how many of these
# there are is up to the other rank: the best of three attempts counts.
#
# Environment: RBUF_PREFIX, where rbuf is installed; MPIRUN.
# Exit status: 0, 1 if a ring needs more than 0.6 of send/receive with the verbs, or rbuf itself more than 240 to send
# by it (217 with gcc 12), 77 where it cannot be found out.

set -u
prefix=${RBUF_PREFIX:?where rbuf is installed}
mpirun=${MPIRUN:-mpirun}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Rank 0 runs under callgrind, which counts while this function is on the stack.
cat >"$work/rank" <<'END'
#!/bin/bash
out=$1 function=$2
shift 2
test "$OMPI_COMM_WORLD_RANK" = 0 || exec "$@"
exec valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$function" "$@"
END
chmod +x "$work/rank"

# Of a file of callgrind's: what was spent in the component itself, in the adapter's library, and the
# passes of progress. The line after calls= is what the callee spent, which stands in the callee's own
# lines again.
own_verbs_passes() { # FILE
    awk '
        function id(field) { return substr(field, index(field, "=") + 1) }
        /^c?ob=/ { if (NF > 1) object[id($1)] = $2 }
        /^c?fn=/ { if (NF > 1) function_[id($1)] = $2 }
        /^ob=/ {
            ours = object[id($1)] ~ /mca_btl_rbuf\.so/
            theirs = object[id($1)] ~ /libsofthca|libibverbs/
        }
        /^cfn=/ { callee = function_[id($1)] }
        /^calls=/ {
            if (callee == "rbuf_core_progress") passes += id($1)
            getline
            next
        }
        /^[0-9+*-]/ && ours { own += $2 }
        /^[0-9+*-]/ && theirs { verbs += $2 }
        END { print own + 0, verbs + 0, passes + 0 }' "$1"
}

ping_pongs=100 # back to back in a repetition
count() { # FUNCTION "BENCH OPTIONS" OPTION...
    local function=$1 bench=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    timeout 120 "$prefix/bin/softhca" --profile unpaced -- "$mpirun" -np 2 --mca pml ob1 \
        --mca btl rbuf,self --mca mca_base_component_path "SYS_DEFAULT:$prefix/lib/openmpi" "$@" \
        "$work/rank" "$work/out" "$function" "$prefix/bin/rbuf-bench" --sizes 8 $bench \
        >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        return 1
    }
    own_verbs_passes "$work/out"
}

repetitions=100 # that are counted, the more of them the less the start matters
# Sets own, verbs and passes to what so many more ping-pongs take; fails if they cannot be counted.
more_of() { # FUNCTION OPTION...
    local function=$1 less more
    shift
    read -ra less < <(count "$function" "--burst $ping_pongs --reps 20" "$@")
    read -ra more < <(count "$function" "--burst $ping_pongs --reps $((20 + repetitions))" "$@")
    [ ${#less[@]} = 3 ] && [ ${#more[@]} = 3 ] && [ "${less[0]}" -gt 0 ] || return 1
    own=$((more[0] - less[0])) verbs=$((more[1] - less[1])) passes=$((more[2] - less[2]))
    [ $own -gt 0 ]
}

# Sets receive_own and receive_verbs.
per_receive() { # MESSAGES OPTION...
    local messages=$1 idle idle_passes
    shift
    read -ra idle < <(count mca_btl_rbuf_progress "--pattern late --late 300000 --reps 4" "$@")
    [ "${idle[2]:-0}" -gt 0 ] || return 1
    more_of mca_btl_rbuf_progress "$@" || return 1
    idle_passes=$((passes - messages))
    receive_own=$(((own - idle_passes * idle[0] / idle[2]) / messages))
    receive_verbs=$(((verbs - idle_passes * idle[1] / idle[2]) / messages))
    [ "$receive_own" -gt 0 ]
}

per_message() { # NAME OPTION...: prints, and sets total and send_own
    local name=$1 messages=$((repetitions * ping_pongs)) own verbs passes send_verbs
    local receive_own receive_verbs
    shift
    if ! more_of mca_btl_rbuf_sendi "$@"; then
        echo "callgrind did not see the component send" >&2
        exit 1
    fi
    send_own=$((own / messages)) send_verbs=$((verbs / messages))
    if ! per_receive "$messages" "$@"; then
        echo "callgrind did not see the component receive" >&2
        exit 1
    fi
    echo "$name: $send_own to send and $send_verbs for verbs," \
        "$receive_own to receive and $receive_verbs for verbs"
    total=$((send_own + send_verbs + receive_own + receive_verbs))
}

for attempt in 1 2 3; do
    per_message "by a ring"
    ring=$total ring_send=$send_own
    per_message "over send/receive" --mca btl_rbuf_polling_set 0
    echo "all together $ring and $total: $((100 * ring / total)) % (at most 60), attempt $attempt"
    [ $((100 * ring)) -gt $((60 * total)) ] || [ $ring_send -gt 240 ] || exit 0
done
exit 1
