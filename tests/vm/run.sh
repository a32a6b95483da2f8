#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Tests on the kernel's verbs: Soft-RoCE in a guest, and in two that are linked.
#
#   tests/vm/run.sh [--all] [--kernel 6.1|6.12|newest] [NAME...]
#
# NAME is a file of one/ or two/ without its ending, for example one/gid; all by default. The kernel is that of
# Debian 12, of Debian 13 or of unstable. Without --kernel one guest runs the newest of them that can be had, and
# the two run 6.1. --all runs all tests on all three; those on the newest are longer then. A kernel that cannot be had
# is skipped, with the reason.
#
# Needs no privilege. RBUF_BUILD names the build directory, RBUF_PREFIX where it is installed, RBUF_COMPONENT_DIR the
# directory of mca_btl_rbuf.so, RBUF_CACHE a directory that is kept between runs (up to 400 MB for each kernel),
# TALLY_LOGS where the guests' output goes, a directory for each group and kernel. VM_PROCESSORS is how many the
# single guest has: 2 by default, so that flags are polled while they are written; 1 is faster where others keep
# this machine busy. The last line counts.

set -u
# Two pairs of sockets, for the links of the pair of guests. Sockets that QEMU itself accepts would block it,
# and its guest with it, as soon as the other guest takes its interface down and reads no more.
if [ -z "${vm_links-}" ]; then
    exec perl -MSocket -e '$^F = 1000; # they stay open in what is executed
        for (1, 2) {
            socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!";
            push @ends, $one, $other;
        }
        $ENV{vm_links} = join " ", map { fileno($_) } @ends;
        exec @ARGV or die "exec: $!"' "$0" "$@"
fi
vm_here=$(cd "$(dirname "$0")" && pwd)
all=no
kernels=() # that are asked for
names=()
while [ $# -gt 0 ]; do
    case $1 in
    --all) all=yes ;;
    --kernel)
        case ${2-} in
        6.1 | 6.12 | newest) kernels+=("$2") ;;
        *)
            echo "run.sh: --kernel '${2-}': 6.1, 6.12 or newest" >&2
            exit 2
            ;;
        esac
        shift
        ;;
    -h | --help)
        sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        if [ ! -f "$vm_here/$1.sh" ]; then
            echo "run.sh: no test $1: $(cd "$vm_here" && echo one/*.sh two/*.sh)" >&2
            exit 2
        fi
        names+=("$1")
        ;;
    esac
    shift
done
: "${RBUF_BUILD:?names the build directory}" "${RBUF_PREFIX:?names where it is installed}"
: "${RBUF_COMPONENT_DIR:=$RBUF_PREFIX/lib/openmpi}" "${RBUF_CACHE:=${XDG_CACHE_HOME:-$HOME/.cache}/rbuf}"
if [ -z "${TALLY_LOGS-}" ]; then
    TALLY_LOGS=$(mktemp -d) || exit 1
    trap 'rm -rf "$TALLY_LOGS"' EXIT
fi
vm_cache=$RBUF_CACHE/vm
mkdir -p "$vm_cache" "$TALLY_LOGS" || exit 1
vm_cache=$(cd "$vm_cache" && pwd)
TALLY_LOGS=$(cd "$TALLY_LOGS" && pwd)
. "$vm_here/../tally.sh"
. "$vm_here/kernel.sh"
. "$vm_here/initramfs.sh"
. "$vm_here/qemu.sh"

# Ends without a failure where guests cannot be had.
prepare()
{
    local reason
    reason=$(vm_qemu_lacks)
    if [ -n "$reason" ]; then
        skip vm "$reason"
        tally
        exit 0
    fi
    try "programs" make -C "$RBUF_BUILD/tests/mpi" check TESTS= &&
        try "programs of the guests" make -C "$RBUF_BUILD/tests/vm" check TESTS= && return
    tally
    exit 1
}

# Chooses the kernel of the guests to come, and packs what they start from. Returns 1 if it cannot be had, which
# is counted.
use_kernel() # KERNEL
{
    local log
    kernel=$1
    log=$(log_of "kernel $1")
    if ! vm_kernel "$1" >"$log"; then
        skip "kernel $1" "$(tail -n 1 "$log")"
        return 1
    fi
    if ! vm_initramfs 2>>"$log"; then
        fail "kernel $1" "what the guest starts from cannot be packed"
        show_log "kernel $1"
        return 1
    fi
    echo "== Linux $vm_kernel_version"
}

# Runs groups on each of the kernels, or with "first" on the first of them that can be had.
run_on_kernels() # each|first "GROUP..." KERNEL...
{
    local number=$1 groups=$2 each group
    shift 2
    for each in "$@"; do
        use_kernel "$each" || continue
        vm_all=no vm_limit=1200 vm_test_limit=900 # seconds for a group, and for a test
        if [ $all = yes ] && { [ $# = 1 ] || [ "$each" = newest ]; }; then
            vm_all=yes vm_limit=4200 vm_test_limit=3600
        fi
        for group in $groups; do
            run_group "$group"
        done
        [ "$number" = each ] || return
    done
}

selected() # GROUP: its tests that are asked for
{
    local file name
    for file in "$vm_here/$1"/*.sh; do
        [ -f "$file" ] || continue
        name=$1/$(basename "$file" .sh)
        if [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]]; then
            printf '%s ' "$name"
        fi
    done
}

write_job() # NODES TESTS
{
    printf '%s=%q\n' RBUF_BUILD "$(cd "$RBUF_BUILD" && pwd)" RBUF_PREFIX "$(cd "$RBUF_PREFIX" && pwd)" \
        RBUF_COMPONENT_DIR "$(cd "$RBUF_COMPONENT_DIR" && pwd)" vm_here "$vm_here" vm_all $vm_all \
        vm_nodes "$1" vm_tests "$2" vm_test_limit $vm_test_limit
}

# Boots a group's guests, and adds what they counted. A guest's kernel crashes now and then, and nothing that runs
# in it as a program can be the cause: Linux 6.1 where a packet of Soft-RoCE leaves the card when its queue pair is
# gone already (rxe_skb_tx_dtor), others on QEMU without KVM, in the middle of a branch that they patch. Then they
# boot again, three times in all.
run_group() # GROUP
{
    local tests out status boot
    tests=$(selected "$1")
    [ -n "$tests" ] || return
    out=$TALLY_LOGS/$1-$kernel
    for boot in 1 2 3; do
        status=0
        boot_group "$1" "$tests" "$out" || status=$?
        [ $status -gt 1 ] || break
        vm_drain_links
        [ $boot -lt 3 ] && kernel_crashed "$out" || break
        echo "      $1, kernel $kernel: crashed ($out.crashed.$boot), all of it again"
        grep -h 'RIP: ' "$out"/console.* | head -n 2 | sed 's/^/      | /'
        rm -rf "$out.crashed.$boot" && mv "$out" "$out.crashed.$boot"
    done
    add_results "$1" "$out" $status
}

boot_group() # GROUP TESTS DIRECTORY
{
    rm -rf "$3"
    mkdir -p "$3/logs"
    case $1 in
    one)
        write_job 1 "$2" >"$3/job"
        vm_boot 1 "${VM_PROCESSORS:-2}" "$3"
        ;;
    two)
        write_job 2 "$2" >"$3/job"
        vm_boot_pair "$3"
        ;;
    esac
}

kernel_crashed() # DIRECTORY
{
    grep -q 'RIP: .*+0x' "$1"/console.* && grep -q 'Kernel panic' "$1"/console.*
}

add_results() # GROUP DIRECTORY STATUS
{
    local line
    [ -f "$2/results" ] || : >"$2/results"
    while IFS= read -r line; do
        case $line in
        PASS*) passed=$((passed + 1)) ;;
        FAIL*) failed=$((failed + 1)) ;;
        SKIP*) skipped=$((skipped + 1)) ;;
        esac
        printf '%s\n' "$line"
    done <"$2/results"
    if [ "$3" -gt 1 ]; then
        fail "$1, kernel $kernel: the guests" "died, or did not end in time"
        tail -n 15 "$2"/console.* "$2"/qemu.* | sed 's/^/      | /'
    elif [ "$3" != 0 ] && ! grep -q '^FAIL' "$2/results"; then
        fail "$1, kernel $kernel" "a test ended in an error without a count"
        tail -n 15 "$2/complaints" | sed 's/^/      | /'
    fi
}

prepare
read -ra known <<<"$vm_kernels"
if [ ${#kernels[@]} -gt 0 ]; then
    run_on_kernels each "one two" "${kernels[@]}"
elif [ $all = yes ]; then
    run_on_kernels each "one two" "${known[@]}"
else
    run_on_kernels first one newest 6.12 6.1
    run_on_kernels first two 6.1 6.12 newest
fi
tally
