#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# MPICH's test suite, from the sources of Debian's package mpich, built against this Open MPI: those of its
# programs that are plain MPI-3. The short form runs the list below, the long form whole directories.
# What fails over rbuf must fail over tcp, or over vader with the same one-sided component.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"

directories=(pt2pt rma)
quick=' sendrecv2 sendflood sendall anyall bsend5 isendirecv icsend icprobe probe_unexp mprobe many_isend
    manylmt huge_anysrc huge_ssend dtype_send test1 test4 transpose4 putfidx fetchandadd linked_list
    manyrma3 acc_ordering get_accumulate_double_derived put_flush_get overlap_wins_gacc large_small_acc '
[ "$programs_all" = no ] || directories=(pt2pt rma coll datatype comm topo group attr threads/pt2pt)
most_ranks=10
longest=300 # seconds
# The first looks at the field MPI_ERROR of a status on its stack that MPI_Request_get_status leaves as it was in
# Open MPI, over any transport: it fails or not by what happens to lie there. The others are not for Open MPI 4.1.4,
# over whatever transport. Those of the second line are only long: accumulates of dozens of GB, each a get and a put
# of a size that others have, and 100,000 communicators.
unfit=' rqstatus comm_idup_nb comm_idup_isend
    large_acc_flush_local derived_acc_flush_local ctxsplit '
# They follow pointers into memory that others attach to a dynamic window at that time. On one node osc/rdma of
# Open MPI 4 reads a process's list of such memory without its lock, while that one changes it; probably it then
# names memory with the key of its neighbour in the list. The adapter refuses a request in one run of thirty, over
# openib as well. Such a run is tried again.
attaching=' linked_list linked_list_fop linked_list_lockall linked_list_bench_lock_all linked_list_bench_lock_excl
    linked_list_bench_lock_shr linked_list_bench_lock_shr_nocheck '
# They probe from two threads, and MPI_Recv refuses the count that comes of it at times, over vader as well: in
# four of five runs.
probing=' mt_probe_isendrecv mt_probe_sendrecv mt_iprobe_isendrecv mt_iprobe_sendrecv '
# Directories whose programs send hardly a large message: over the first protocol.
small=' comm topo group attr '
# Directories of which little depends on the protocol: in the long form, every third program over the others.
thirds=
[ "$programs_all" = no ] || thirds=' coll rma datatype threads/pt2pt '
for list in quick unfit attaching; do # each name is looked for between spaces
    printf -v "$list" %s "${!list//$'\n'/ }"
done
tests=$cache/mpich
osc=rdma,sm # sm for windows of shared memory, of which rdma wants nothing

# Open MPI 4 hides what MPI 3 removed behind assertions, which these programs' library would meet.
# Not every program of util can be built; the libraries are what counts. Sets log.
prepare() {
    local made
    made="$cache, $(mpicc --showme:version 2>&1)" # its makefiles know where they are
    [ "$(cat "$tests/ready" 2>/dev/null)" != "$made" ] || return 0
    debian_source mpich test/mpi || return
    log=$(log_of "building mpich")
    rm -rf "$tests" && mkdir -p "$tests" && cd "$tests" || return
    cat >removed.h <<'END' || return
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#define OMPI_REMOVED_USE_STATIC_ASSERT 0
#define __mpi_interface_removed__(function, successor)
END
    {
        "$cache/sources/mpich/configure" --disable-fortran --disable-cxx --disable-dependency-tracking \
            --disable-strictmpi CC=mpicc MPICC=mpicc || return
        compile util
        compile dtpools
        [ -e util/libmtest.la ] && [ -e dtpools/src/libdtpools.la ] && echo "$made" >ready
    } >"$log" 2>&1 </dev/null
}

compile() { # DIRECTORY TARGET...
    local directory=$1
    shift
    make -C "$tests/$directory" -k -j"$(nproc)" CPPFLAGS="-include $tests/removed.h" CFLAGS="-O1 -w" "$@"
}

# The suite's list of a directory: "program ranks arguments" a line, without what is MPICH's alone (its control
# variables, what it expects to fail) or takes more ranks or memory than is fair.
listed() { # DIRECTORY
    cat "$cache/sources/mpich/$1/testlist.in" "$cache/sources/mpich/$1/testlist" 2>/dev/null |
        awk -v most=$most_ranks -v all="$programs_all" -v quick="$quick" -v unfit="$unfit" '
    /^[a-z]/ && $2 <= most && !index(unfit, " " $1 " ") {
        if (all == "no" && index(quick, " " $1 " ") == 0) next
        line = $1 " " $2
        for (i = 3; i <= NF; i++) {
            if ($i ~ /^(env|xfail|mem|mpiexecarg)=/ || $i ~ /^test\//) next
            if (sub(/^arg=/, "", $i)) line = line " " $i
        }
        if (line ~ /-iter=10000/) next # the same with fewer is a line before
        if (!(line in seen)) { seen[line] = 1; print line }
    }'
}

# The programs say "No Errors", once, if they found none.
wrong_mpich() {
    wrong_end | grep . || grep -q 'No Errors' "$log" || grep -m 1 . "$log" || echo "no output"
}

# As job, thrice at most of a program that Open MPI lets fail as those above say.
job_of_mpich() { # NAME PROTOCOL LIMIT RANKS PROGRAM [ARGUMENT...]
    local _
    for _ in 1 2 3; do
        job "$@"
        { [[ $attaching == *" ${5##*/} "* ]] && grep -q 'Cause: .*refused a request' "$log"; } ||
            { [[ $probing == *" ${5##*/} "* ]] && grep -q 'MPI_ERR_COUNT' "$log"; } || return 0
    done
}

# One directory over one protocol: one check, whose remark names what fails elsewhere too.
directory_over() { # DIRECTORY PROTOCOL [HOW]
    local name="MPICH $1 over $2${3:+, $3}" program ranks arguments ran=0 turn=0 excused=() bad=() one wrong rivals="tcp vader"
    # Open MPI's cache of registrations ends a program that frees the memory of a window before the window.
    [ "$2" != rcache ] || rivals+=" openib-pinned"
    while read -r program ranks arguments <&3; do
        [ -x "$tests/$1/$program" ] || continue
        turn=$((turn + 1))
        [ "$2" = "${protocols[0]}" ] || [[ $thirds != *" $1 "* ]] || [ $((turn % 3)) = 0 ] || continue
        ran=$((ran + 1))
        one="$name, $program $ranks${arguments:+ $arguments}"
        # shellcheck disable=SC2086 # the arguments of the list are words
        job_of_mpich "$one" "$2" $longest "$ranks" "$tests/$1/$program" $arguments
        wrong=$(wrong_mpich)
        [ -n "$wrong" ] || continue
        # shellcheck disable=SC2086
        if innocent "$rivals" "$one" wrong_mpich $longest "$ranks" "$tests/$1/$program" $arguments; then
            excused+=("$program ($culprit)")
        else
            bad+=("$program")
            fail "$one" "$wrong, and over none of Open MPI's own transports"
            show_log "$one"
        fi
    done 3< <(listed "$1")
    if [ $ran = 0 ]; then
        fail "$name" "none of its programs was built"
    elif [ ${#bad[@]} = 0 ]; then
        pass "$name" "$ran runs${excused[*]:+; fail over other transports too: ${excused[*]}}"
    fi
}

if ! command -v mpicc >/dev/null || ! prepare; then
    skip MPICH "its test suite cannot be had or built: $(grep -v '^W:' "$log" | tail -n 1)"
    tally
    exit
fi
for directory in "${directories[@]}"; do
    read -ra targets < <(listed "$directory" | awk '!seen[$1]++ { print $1 }' | paste -s -d ' ')
    compile "$directory" "${targets[@]}" >"$(log_of "building mpich $directory")" 2>&1 </dev/null
    for protocol in "${protocols[@]}"; do
        [ "$protocol" = "${protocols[0]}" ] || [[ $small != *" $directory "* ]] || continue
        directory_over "$directory" "$protocol"
    done
done
export OMPI_MCA_osc_rbuf_aggregate=1
osc=rdma,rbuf,sm
directory_over rma "${protocols[0]}" packed
tally
