#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# What btl_rbuf_show prints: a table of the ways by size, once, that follows the settings; and messages do go
# as it says.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"
bench=$RBUF_BUILD/ompi-mca-btl-rbuf/rbuf-bench

# The ranges join, from 0 to the rendezvous, and stand there once.
wrong_ranges() {
    awk '/^rbuf-show: +[0-9]+ to +[0-9]+ / {
            if ($2 != next_one) print "a range begins at " $2 ", not at " next_one
            next_one = $4 + 1
            ranges++
        }
        /^rbuf-show: +[0-9]+ and more +rendezvous/ {
            if ($2 != next_one) print "the rendezvous begins at " $2 ", not at " next_one
            rendezvous++
        }
        BEGIN { next_one = 0 }
        END {
            if (ranges < 1) print "no range"
            if (rendezvous != 1) print rendezvous + 0 " lines of the rendezvous"
        }' "$log"
}

# shown NAME "SETTING..." REGEX...: a line of the table matches each; after ! none does.
shown() {
    local name="show: $1" wrong setting not= regex
    mpi=(--mca btl_rbuf_show 1)
    for setting in $2; do
        mpi+=(--mca "btl_rbuf_${setting%%=*}" "${setting#*=}")
    done
    job "$name" 60 2 "$mpi_tests/finalize" nothing
    wrong=$(wrong_success)
    [ -n "$wrong" ] || wrong=$(wrong_ranges)
    for regex in "${@:3}"; do
        [ -z "$wrong" ] || break
        case $regex in
        !) not=yes ;;
        *)
            if grep -q -E "^rbuf-show: .*$regex" "$log"; then
                [ -z "$not" ] || wrong="is shown: $regex"
            else
                [ -n "$not" ] || wrong="not shown: $regex"
            fi
            not=
            ;;
        esac
    done
    verdict "$name" "$wrong" "$took s"
}

shown "defaults" "" "port softhca0:1" "rings are for 16 peers" \
    " 0 to .* eager ring, one slot, inside the request; without a ring send/receive, inside the request" \
    "eager ring, one slot, one write; without a ring send/receive, control buffer \(to ring_slot_size\)" \
    "slots, written in chunks from 2 KB on; without a ring send/receive, bulk buffer \(to ring_longest, eager_limit\)|bulk buffer \(to eager_limit\)" \
    " 49153 and more +rendezvous, through staging buffers \(protocol superpipeline\)" \
    "chunks from 12 KB on, each 1.5 times the one before, .* \(c0, q, largest_chunk, buffers, block_size; " "begins behind its rendezvous, for [0-9]+ peers" \
    " 1 MB  [0-9]+ bytes early in [0-9]+ chunks, .*; then [0-9]+ chunks" "atomics by the adapter"
shown "slots" "ring_slot_size=1024" " to +992  eager ring, one slot, one write.* \(to ring_slot_size\)"
shown "parts" "ring_c0=0" "slots, one write" ! "written in chunks"
shown "limits" "eager_limit=20k control_size=5k" \
    " to +5120 .*control buffer \(to control_size\)" " 20481 and more +rendezvous"
shown "no rings" "polling_set=0" "no eager rings \(polling_set\)" ! "eager ring, "
shown "no order" "subblock=off" "no eager rings" "chunks are taken as a whole"
shown "no early data" "early_data=off" ! " early in " ! "begins behind" " 1 MB  [0-9]+ chunks"
shown "registered" "protocol=register" "in place: buffers are registered for each use \(protocol register\)" ! "chunks from 12"
shown "cached" "protocol=rcache" "in place: buffers are registrations kept in a cache|registrations kept in a cache \(protocol rcache\)"
shown "copied as a whole" "protocol=copy" "1 buffers; chunks are taken as a whole \(staging_size; protocol\)"
shown "equal chunks" "protocol=pipeline" \
    "each 1 times .*; chunks are taken as a whole \(pipeline_chunk, largest_chunk, buffers; protocol\)"
shown "equal chunks by length" "protocol=pipeline pipeline_gap=1000" \
    "chunks of sqrt.*; chunks are taken as a whole \(pipeline_gap, largest_chunk, buffers; protocol\)"
# What is less than it was set to, and why.
shown "enough staging" "staging_size=1536k" "256 KB at most; 3 buffers" ! "lowered"
shown "little staging" "staging_size=128k" "chunks from 12 KB on, each 1.5 times the one before, 20 KB at most; 3 buffers" \
    "lowered: largest_chunk from 256 KB to 20 KB; the staging of this port is 64 KB in each direction at most \(staging_size\)"
shown "less staging" "staging_size=64k" "chunks from 8 KB on, each 1.5 times the one before, 8 KB at most; 3 buffers" \
    "lowered: largest_chunk from 256 KB to 8 KB, c0 from 12 KB to 8 KB; the staging of this port is 32 KB "
shown "staging of two blocks" "staging_size=64k block_size=16k" "16 KB at most; 2 buffers" \
    "lowered: largest_chunk from 256 KB to 16 KB, buffers from 3 to 2; "
shown "staging of one block" "staging_size=64k block_size=32k" "32 KB at most; 1 buffers" \
    "lowered: largest_chunk from 256 KB to 32 KB, buffers from 3 to 1; "
shown "little staging, pipeline" "staging_size=64k protocol=pipeline pipeline_chunk=128k" "chunks from 8 KB on, each 1 times" \
    "lowered: largest_chunk from 256 KB to 8 KB, pipeline_chunk from 128 KB to 8 KB; "
shown "little staging, copy" "staging_size=64k protocol=copy" "16 KB at most; 1 buffers" ! "lowered"
shown "larger chunks than staging" "staging_size=64M buffers=16 largest_chunk=4M" \
    "lowered: largest_chunk from 4 MB to 2 MB; the staging of this port is 32 MB in each direction at most \(staging_size\)"
shown "auto" "protocol=auto" "protocol auto, in place where that was seen to be worth it"

# What protocol is the default's: a copy on this machine is slower than ports of 400 Gbit/s, and faster than those of 10.
shown "default" "" "protocol superpipeline" "default: a core copies [0-9.]+ GB/s, the ports carry [01]\.[0-9] GB/s"
hca=(--bandwidth 50G)
shown "default, fast ports" "" "protocol auto" "default: a core copies [0-9.]+ GB/s, the ports carry [0-9]+\.[0-9] GB/s"
shown "superpipeline, fast ports" "protocol=superpipeline" "protocol superpipeline" ! "default:"
hca=()

name="show: nothing"
mpi=()
job "$name" 60 2 "$mpi_tests/finalize" nothing
wrong=$(wrong_success)
[ -n "$wrong" ] || [ "$(lines_with '^rbuf-show')" = 0 ] || wrong="something is shown"
verdict "$name" "$wrong"

# --- messages do go as it says ---

# goes NAME "SETTING..." OF EACH: in a job of messages of 1 MB and some more, for each of the counter OF
# there are as many of the counter EACH as the table says of 1 MB.
goes() {
    local name="show: $1" wrong setting chunks
    mpi=(--mca btl_rbuf_show 1 --mca btl_rbuf_report 2)
    for setting in $2; do
        mpi+=(--mca "btl_rbuf_${setting%%=*}" "${setting#*=}")
    done
    job "$name" 60 2 "$bench" --sizes 1M --reps 10 --check --no-warm-up
    wrong=$(wrong_success)
    chunks=$(sed -n -E 's/^rbuf-show: +1 MB  ([0-9]+) chunks?,.*/\1/p' "$log")
    if [ -z "$wrong" ] && ! [ "$(counted staged_messages)" -ge 20 ]; then
        wrong="no messages were staged"
    elif [ -z "$wrong" ] && [ "$(counted staged_chunks)" != $((${chunks:-0} * $(counted staged_messages))) ]; then
        wrong="$(counted staged_chunks) chunks of $(counted staged_messages) messages, not ${chunks:-some} each"
    fi
    verdict "$name" "$wrong" "$chunks chunks each"
}
goes "as many chunks" "early_data=off"
goes "as many larger chunks" "early_data=off c0=32k q=2"
goes "as many equal chunks" "early_data=off protocol=pipeline pipeline_chunk=64k"
goes "as many chunks by equation 3" "early_data=off protocol=pipeline pipeline_gap=8k"

# Who takes softhca's library away is told how to keep it.
name="show: LD_PRELOAD is replaced"
hca=()
mpi=(-x LD_PRELOAD=libm.so.6 --mca btl_base_verbose 10) # Open MPI 4.1 may lose a text
job "$name" 60 1 "$mpi_tests/finalize" nothing
wrong=
grep -q "softhca's library was not loaded, as LD_PRELOAD was replaced" "$log" || wrong="the text is not there"
verdict "$name" "$wrong"
mpi=()

# Which one-sided components leave osc/pt2pt to be chosen, which shows old data behind a flush: that is said.
warned() { # yes|no OSC PROTOCOL
    local wrong=
    name="show: osc $2, $3"
    mpi=(--mca btl_rbuf_protocol "$3" --mca btl_base_verbose 10)
    osc=$2
    job "$name" 60 2 "$mpi_tests/order"
    osc=$osc_before
    wrong=$(wrong_success)
    if [ -z "$wrong" ] && grep -q '^One-sided component osc/pt2pt was chosen' "$log"; then
        [ "$1" = yes ] || wrong="a warning"
    elif [ -z "$wrong" ]; then
        [ "$1" = no ] || wrong="no warning"
    fi
    verdict "$name" "$wrong"
}
osc_before=$osc
warned yes pt2pt superpipeline
warned yes ^rdma auto
warned no rdma,pt2pt superpipeline
warned no pt2pt register
mpi=()

# How many messages of BYTES, with Open MPI's header of 14 bytes, travel inside their request.
inline_of() { # BYTES
    mpi=(--mca btl_rbuf_polling_set 0 --mca btl_rbuf_report 2)
    job "$name" 60 2 "$bench" --sizes "$1" --reps 10 --burst 100
    [ -n "$(wrong_success)" ] || counted messages_inline
}
name="show: what travels inside the request does"
mpi=(--mca btl_rbuf_show 1 --mca btl_rbuf_polling_set 0)
job "$name" 60 2 "$mpi_tests/finalize" nothing
last=$(sed -n -E 's/^rbuf-show: +0 to +([0-9]+)  send\/receive, inside the request.*/\1/p' "$log")
if [ -z "$last" ]; then
    verdict "$name" "no range"
else
    within=$(inline_of $((last - 14)))
    beyond=$(inline_of $((last - 13)))
    wrong=
    [ "${within:-0}" -ge $((${beyond:-0} + 1900)) ] || wrong="${within:-none} inline, and ${beyond:-none} one byte longer"
    verdict "$name" "$wrong" "$last bytes: $within inline, $beyond of those one byte longer"
fi
tally
