#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Early data that cannot be had, or not by all; messages that are not expected; partners that change;
# processes that differ. The data is right, and what the way was is read in the counters of each job.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
subject=early
shown=early_sent
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"

none="early_sent=0 early_leased=0"
some="early_sent>20 early_claimed>20 early_leased>0"
sure="early_dropped=0 early_corrected=0 messages_refused=0"
hca=()

# --- no windows ---

with early_peers=0
right "off" "$none" 2 "$mpi_tests/storm"
with staging_size=1536k
right "no room behind the largest message's buffers" "$none" 2 "$mpi_tests/storm"
for protocol in copy rcache; do
    with protocol=$protocol
    right "protocol $protocol, contiguous" "early_claimed=0 early_late=0" 2 "$mpi_tests/unlike" report=2
done

# --- windows ---

with
right "expected messages" "$some $sure" 2 "$mpi_tests/unlike" report=2
with subblock=off
right "subblock off" "$some $sure" 2 "$mpi_tests/unlike" report=2
right "subblock off, storm" "early_sent>0" 4 "$mpi_tests/storm"
with
hca=(--data-in-order off --fault order=random)
right "no order promised" "early_sent>0" 2 "$mpi_tests/storm"
right "no order promised, late receives" "early_late>50" 2 "$mpi_tests/late"
right "no order promised, packed" "early_fragments>50" 2 "$mpi_tests/packed"
hca=()
with protocol=auto
right "protocol auto" "early_sent>0" 2 "$mpi_tests/storm"
for size in 12k 40k 1m; do
    for c0 in 4k 12k; do
        with early_size=$size early_c0=$c0
        right "early_size=$size early_c0=$c0" "$some $sure" 2 "$mpi_tests/unlike" report=2
    done
done

# --- messages that nobody expects ---

with
right "unexpected" "$sure" 2 "$mpi_tests/unexpected"
late="early_late>50 early_corrected=0"
right "late receives" "$late" 2 "$mpi_tests/late"
with subblock=off
right "late receives, subblock off" "$late" 2 "$mpi_tests/late"
right "late receives in any order, subblock off" "$late $sure" 3 "$mpi_tests/early"
with rdma_pipeline_frag_size=131072
right "late receives of parts" "$late" 2 "$mpi_tests/late"
with rdma_pipeline_frag_size=40960
right "late receives of small parts" "$late staged_messages>3000" 2 "$mpi_tests/late"
with rdma_pipeline_send_length=65536
mpi+=(--mca mpi_leave_pinned 0)
right "late receives, the end in fragments" "early_sent>20" 2 "$mpi_tests/late"
with exclusivity=1024
right "late receives, peers shared" "early_sent=0" 2 "$mpi_tests/late"
with protocol=pipeline
right "late receives, chunks of one size" "early_sent>20 $sure" 3 "$mpi_tests/early"
with protocol=pipeline pipeline_gap=8k
right "late receives, chunks by equation 3" "early_sent>20 $sure" 3 "$mpi_tests/early"
with staging_size=1792k grant_wait=50us
right "late receives, little staging" "messages_refused=0" 3 "$mpi_tests/early"
with
right "many to one" "early_sent>0 messages_refused=0" 4 "$mpi_tests/many_to_one"
right "storm" "early_sent>0 messages_refused=0" 4 "$mpi_tests/storm"

# --- more partners than windows ---

for peers in 1 2; do
    with early_peers=$peers
    right "early_peers=$peers, 4 ranks" "early_sent>0" 4 "$mpi_tests/storm"
    right "early_peers=$peers, all to all" "early_sent>0" 4 "$mpi_tests/collectives"
    right "early_peers=$peers, late receives" "early_sent>0" 4 "$mpi_tests/early"
done

# --- processes that differ ---

with
unlike "early_leased<2" early_peers=0
unlike "early_leased>0" subblock=off
unlike "early_leased>0" early_size=16k early_c0=4k
unlike "early_leased>0" c0=4k q=2
unlike "early_leased>0" block_size=1k
unlike "early_leased>0" protocol=pipeline pipeline_gap=8k
unlike "early_leased>0" c0=256k early_size=1m
unlike "early_leased>0" staging_size=1536k
with early_size=1m
unlike "early_sent>0 messages_refused=0" staging_size=1536k
tally
