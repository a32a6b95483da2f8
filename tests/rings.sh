# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the test scripts: settings of eager rings, of what is sent by them, and of the order of
# one-sided operations, besides the default one, under which they try again what depends on those.

ring_settings="two-slots one-place at-once one-slot small-slots tight off reuse"
rma_orders="interleave prioritize both" # which matter to one-sided programs alone

# Sets the array ring_args, options of mpirun. 1 if there is no such setting.
ring_options() # SETTING
{
    local setting settings
    case $1 in
    default) settings=() ;;
    two-slots) settings=(ring_slots=2) ;;
    one-place) settings=(polling_set=1) ;;
    at-once) settings=(ring_threshold=1) ;;
    one-slot) settings=(ring_longest=0) ;;
    small-slots) settings=(ring_slots=16 ring_slot_size=256 ring_longest=1500 ring_c0=64) ;;
    tight) settings=(ring_slots=2 ring_slot_size=128 polling_set=1 ring_threshold=1) ;;
    off) settings=(polling_set=0) ;;
    reuse) settings=(reuse=on reuse_speculation=0) ;; # everything that can be is gathered
    interleave | prioritize | both) settings=(rma_order="$1") ;;
    *)
        echo "unknown setting of rings '$1': one of default $ring_settings $rma_orders" >&2
        return 1
        ;;
    esac
    ring_args=()
    for setting in "${settings[@]}"; do
        ring_args+=(--mca "btl_rbuf_${setting%%=*}" "${setting#*=}")
    done
}
