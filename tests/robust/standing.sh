#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Standing lanes that cannot be had, or not by all; messages that are not expected; partners that change;
# processes that differ. The data is right, and what the way was is read in the counters of each job.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
subject=standing
shown=heads_taken
# shellcheck source=tests/robust/counters.sh
. "$(dirname "$0")/counters.sh"

none="heads_led=0 standing_lent=0"
some="heads_led>20 heads_taken>20 standing_lent>0"
hca=()

# --- no lanes ---

with early_peers=0
right "off" "$none" 2 "$mpi_tests/storm"
with staging_size=1536k
right "no room behind the largest message's buffers" "$none" 2 "$mpi_tests/storm"
for protocol in pipeline copy rcache; do
    with protocol=$protocol
    right "protocol $protocol" "$none" 2 "$mpi_tests/storm"
done

# --- lanes ---

with
right "expected messages" "$some heads_declined=0" 2 "$mpi_tests/unlike" report=1
with subblock=off
right "subblock off" "$some heads_declined=0" 2 "$mpi_tests/unlike" report=1
right "subblock off, storm" "heads_led>0" 4 "$mpi_tests/storm"
with
hca=(--data-in-order off --fault order=random)
right "no order promised" "heads_led>0" 2 "$mpi_tests/storm"
hca=()
with protocol=auto
right "protocol auto" "heads_led>0" 2 "$mpi_tests/storm"
for size in 12k 40k 1m; do
    for c0 in 4k 12k; do
        with early_size=$size early_c0=$c0
        right "early_size=$size early_c0=$c0" "$some" 2 "$mpi_tests/unlike" report=1
    done
done

# --- messages that nobody expects ---

with
right "unexpected" "heads_in_vain<20" 2 "$mpi_tests/unexpected"
late="heads_kept>50 heads_declined>5"
right "late receives" "$late" 2 "$mpi_tests/late"
with subblock=off
right "late receives, subblock off" "$late" 2 "$mpi_tests/late"
with rdma_pipeline_frag_size=131072
right "late receives of parts" "$late" 2 "$mpi_tests/late"
with rdma_pipeline_frag_size=40960
right "late receives of small parts" "$late staged_messages>3000" 2 "$mpi_tests/late"
with rdma_pipeline_send_length=65536
mpi+=(--mca mpi_leave_pinned 0)
right "late receives, the end in fragments" "heads_led>20" 2 "$mpi_tests/late"
with exclusivity=1024
right "late receives, peers shared" "heads_led=0 prestaged=0" 2 "$mpi_tests/late"
with
right "many to one" "heads_in_vain<400" 4 "$mpi_tests/many_to_one"
right "storm" "heads_led>0" 4 "$mpi_tests/storm"

# --- more partners than lanes ---

for peers in 1 2; do
    with early_peers=$peers
    right "early_peers=$peers, 4 ranks" "heads_led>0" 4 "$mpi_tests/storm"
    right "early_peers=$peers, all to all" "heads_led>0" 4 "$mpi_tests/collectives"
done

# --- processes that differ ---

with
unlike "standing_lent<2" early_peers=0
unlike "standing_lent>0" subblock=off
unlike "standing_lent>0" early_size=16k early_c0=4k
unlike "standing_lent>0" c0=4k q=2
unlike "standing_lent>0" block_size=1k
unlike "standing_lent>0" c0=256k early_size=1m
unlike "standing_lent>0" staging_size=1536k
with early_size=1m
unlike "heads_led>0 messages_refused=0" staging_size=1536k
tally
