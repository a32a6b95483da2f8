#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# This tree's MPI programs over Open MPI's own BTL for verbs (put, get, eager RDMA, one-sided) on the
# emulated adapter, and the order of writes there as tests/vm/flags sees it. That the adapter is right by
# itself is contrib/softhca/tests/run.sh's.
#
#   tests/softhca/run.sh [--build DIR] [--only REGEX]
#
# --only runs just the checks whose names match. DIR is the build directory (RBUF_BUILD; by default this
# tree); logs go to DIR/logs/softhca. The last line counts.

here=$(cd "$(dirname "$0")" && pwd)
build=${RBUF_BUILD:-$here/../..}
only=
while test $# -gt 0; do
    case $1 in
    --build) build=${2:?--build wants a directory} && shift ;;
    --only) only=${2:?--only wants a regular expression} && shift ;;
    *)
        echo "usage: run.sh [--build DIR] [--only REGEX]" >&2
        exit 2
        ;;
    esac
    shift
done
build=$(cd "$build" && pwd) || exit 2
softhca=${SOFTHCA:-$build/contrib/softhca/softhca}
TALLY_LOGS=$build/logs/softhca
mkdir -p "$TALLY_LOGS" || exit 2
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"

# A fabric of our own, so that other users of the machine do not share the links.
fabric=(--fabric "run-$$")
# What a program that was killed may have kept a launcher from removing.
trap 'rm -f "/dev/shm/softhca-$(id -u)-run-$$-"*' EXIT

# Neither a block's flag nor the last word of a message in a ring is ever there before the rest; and
# where order is not kept that is seen. Blocks of the least size that rbuf takes (btl_rbuf_block_size).
ordered_writes() {
    local flags=$build/tests/vm/flags
    test -z "$only" || [[ "order of writes" =~ $only ]] || return
    if ! test -x "$flags"; then
        skip "order of writes" "make check builds what looks at it"
        return
    fi
    TALLY_TIMEOUT=120 try "order of writes: kept" \
        "$softhca" "${fabric[@]}" --profile unpaced -- "$flags" -w 100 -b 64 -s 512 softhca0 softhca0
    TALLY_TIMEOUT=120 try "order of writes: not kept is seen" sh -c \
        '"$@" | tee /dev/stderr | grep -q "ring: .* [1-9][0-9]* words before payload"' seen \
        "$softhca" "${fabric[@]}" --profile unpaced --fault order=random -- "$flags" -w 20 softhca0 softhca0
}

# Open MPI's own BTL for verbs, on a test program.
openib() { # NAME MCA-OPTIONS -- PROGRAM [ARGUMENT...]
    local name=$1 options=()
    shift
    while test "$1" != --; do
        options+=("$1")
        shift
    done
    shift
    test -z "$only" || [[ $name =~ $only ]] || return
    if ! test -x "$1"; then
        skip "$name" "make check builds ${1##*/}"
        return
    fi
    TALLY_TIMEOUT=180 try "$name" "$softhca" "${fabric[@]}" --profile graphene -- \
        mpirun -np 2 --bind-to none --oversubscribe --mca pml ob1 --mca btl openib,self \
        --mca btl_openib_allow_ib 1 --mca btl_openib_warn_no_device_params_found 0 \
        "${options[@]}" "$@"
}

run_openib() {
    local programs=$build/tests/mpi program
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    if ! ompi_info --parsable 2>/dev/null | grep -q '^mca:btl:openib:'; then
        skip "openib" "this Open MPI has no openib BTL"
        return
    fi
    for program in pingpong window; do
        openib "openib get, $program" --mca btl_openib_flags send,get -- "$programs/$program"
        openib "openib put, $program" --mca btl_openib_flags send,put -- "$programs/$program"
        openib "openib eager RDMA, $program" --mca btl_openib_use_eager_rdma 1 \
            --mca btl_openib_eager_rdma_threshold 1 -- "$programs/$program"
        openib "openib leave_pinned, $program" --mca mpi_leave_pinned 1 -- "$programs/$program"
        openib "openib no leave_pinned, $program" --mca mpi_leave_pinned 0 -- "$programs/$program"
    done
    openib "openib one-sided" --mca osc rdma -- "$programs/onesided"
}

test -x "$softhca" || { echo "$softhca is not built" >&2; exit 2; }
ordered_writes
run_openib
tally
