#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Runs the MPI tests of testlist over each transport, and some of them again with other settings of
# eager rings, one line a test; ends with the line "N passed, N failed, N skipped". The output of a
# test is shown only if it failed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
# shellcheck source=tests/rings.sh
. "$here/../rings.sh"
# shellcheck source=contrib/softhca/tests/patience.sh
. "$here/../../contrib/softhca/tests/patience.sh"

usage()
{
    cat <<END
usage: run.sh [options]
  --bin DIR          where the test programs are (\$RBUF_BUILD/tests/mpi, else $here)
  --transports LIST  with commas ($(echo "$transport_protocols" | tr ' ' ','))
                     also: $(echo "$transport_rivals" | tr ' ' ',')
  --only REGEX       only the tests whose name matches
  --rings LIST       settings of eager rings, with commas ($(echo "default $ring_settings $rma_orders" | tr ' ' ','));
                     those but default are for the first of the transports that is rbuf's
  --all              the long ones too, and more settings and protocols by turns, as testlist says
  --profile NAME     of the emulated HCA where the machine has none (unpaced)
  --fault FAULT      of the emulated HCA, in every other test over a protocol of rbuf; none: in no test
                     (order=words: the bytes of a write in any order)
  --mca NAME VALUE   passed to mpirun; may be repeated
  --keep DIR         keep every test's output there
  --part K/N         only the tests whose line, counted, leaves K when divided by N
  --jobs N           so many tests at once, their lines in order (half as many as there are processors:
                     ranks poll, and take the processors from each other)
RBUF_COMPONENT_DIR names the directory of mca_btl_rbuf.so, SOFTHCA the launcher of the emulated
HCA. Exit status: 0 if nothing failed, 1 if something did, 2 on bad usage.
END
}

refuse()
{
    echo "run.sh: $* (--help explains)" >&2
    exit 2
}

bin=${RBUF_BUILD:+$RBUF_BUILD/tests/mpi}
bin=${bin:-$here}
transports=${transport_protocols// /,}
only=
profile=unpaced
fault=order=words
rings=default,${ring_settings// /,},${rma_orders// /,}
keep=
part=0/1
jobs=$((($(nproc) + 1) / 2))
long=no
extra=()
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0
        ;;
    --all) long=yes ;;
    --mca)
        [ $# -ge 3 ] || refuse "--mca wants a name and a value"
        extra+=(--mca "$2" "$3")
        shift 2
        ;;
    --bin | --transports | --only | --rings | --profile | --fault | --keep | --part | --jobs)
        [ $# -ge 2 ] || refuse "$1 wants a value"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    *) refuse "unknown option '$1'" ;;
    esac
    shift
done
[[ $part =~ ^[0-9]+/[1-9][0-9]*$ ]] || refuse "--part wants K/N, not '$part'"
export OMPI_MCA_btl_rbuf_helper_policy=force # protocol helper: the tests compute on all cores
IFS=, read -ra names <<<"$transports"
needs_hca=no
for transport in "${names[@]}"; do
    transport_options "$transport" || exit 2
    if transport_needs_hca "$transport"; then
        needs_hca=yes
    fi
done
IFS=, read -ra settings <<<"$rings"
for setting in "${settings[@]}"; do
    ring_options "$setting" || exit 2
done
[ $needs_hca = yes ] || profile=none
fabric_choose "$profile" || exit 2

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
if [ -n "$keep" ]; then
    mkdir -p "$keep" || exit 2
fi
children=4 # the most that a test starts at a time
passed=0
failed=0
skipped=0
running=() # tests under way, by number; each has its lines and its output in files of that name
started=0
pids=()

# start LIMIT RANKS EXPECT PROGRAM ARGUMENTS...: runs it, output to $out; mpirun's status. Each job has
# a directory for Open MPI's own files: two that begin at once would trip over a common one.
# One-sided tests are to use the BTL: the others that Open MPI would prefer on one node are not
# what is tested.
start()
{
    local limit=$1 ranks=$2 expect=$3 program=$4
    shift 4
    mpi_launch_options "$ranks"
    if [ "$expect" = spawns ]; then
        mpi_launch_options "$ranks" "$children"
    elif [ "$expect" = apart ]; then
        mpi_launch_apart "$ranks"
    elif [ "$expect" = pairs ]; then
        mpi_launch_apart "$ranks" 2
    elif [ "$expect" = survivor ]; then
        mpi_args+=(--enable-recovery)
    fi
    mkdir -p "$out.session"
    TMPDIR=$out.session timeout -k 5 "$limit" "${fabric[@]}" "${MPIRUN:-mpirun}" "${mpi_args[@]}" \
        "${transport_args[@]}" --mca osc "$transport_osc" --mca mpi_warn_on_fork 0 "${ring_args[@]}" \
        "${extra[@]}" \
        "$bin/$program" "$@" >"$out" 2>&1
}

# Seconds from the victim's death, as it wrote it, until now; nothing if it did not die.
seconds_since_death()
{
    sed -n 's/.*victim: killed at \([0-9.]*\).*/\1/p' "$out" |
        awk -v now="$(date +%s.%N)" 'NR == 1 { printf "%.1f", now - $1 }'
}

# judge EXPECT STATUS LIMIT: sets verdict to PASS, FAIL or SKIP, and remark.
judge()
{
    local since
    remark=
    verdict=FAIL
    if [ "$2" = 124 ] || [ "$2" = 137 ] && [ "$1" != killed ]; then
        remark="hangs: no end after $3 s"
        return
    fi
    case $1 in
    pass | spawns | apart | pairs)
        case $2 in
        0) verdict=PASS ;;
        77)
            # Open MPI's launcher ends so too, for reasons of its own.
            remark=$(sed -n 's/^skip: //p' "$out" | head -n 1)
            [ -n "$remark" ] && verdict=SKIP || remark="status 77, and the test said nothing of it"
            ;;
        *) remark="status $2" ;;
        esac
        ;;
    killed | survivor)
        since=$(seconds_since_death)
        if [ -z "$since" ]; then
            remark="status $2 before the rank was killed"
        elif [ "$2" = 124 ] || awk "BEGIN { exit !($since > $(patience_for 10)) }"; then
            remark="mpirun lived on for $since s"
        elif [ "$1" = killed ] && [ "$2" = 0 ]; then
            remark="status 0 though a rank was killed"
        else
            verdict=PASS
            remark="ended after $since s"
        fi
        ;;
    esac
}

# run_test TRANSPORT NAME RANKS LIMIT EXPECT PROGRAM ARGUMENTS...
run_test()
{
    local transport=$1 name=$2 ranks=$3 limit expect=$5 begin status tries
    limit=$(patience_for "$4")
    shift 5
    begin=$(date +%s.%N)
    if [ -n "$left_out" ]; then
        verdict=SKIP
        remark=$left_out
        : >"$out"
    elif [ "$expect" = survivor ] && ! transport_needs_hca "$transport"; then
        verdict=SKIP
        remark="Open MPI's own $transport does not end for a dead peer"
    elif [ "$expect" = pairs ] && ! mpi_has_nodes; then
        verdict=SKIP
        remark="no node may have a host name of its own here"
    elif [[ "$expect" = apart || "$expect" = pairs ]] && { [ "$transport" = vader ] || transport_mpirun_is 5; }; then
        verdict=SKIP
        remark="processes of one node cannot be taken for those of several"
    elif [ ! -x "$bin/$1" ]; then
        verdict=FAIL
        remark="$bin/$1 is not built"
        : >"$out"
    else
        for tries in 1 2 3; do
            start "$limit" "$ranks" "$expect" "$@"
            status=$?
            [ "$expect" = spawns ] && [ $status = 124 ] && [ $tries -lt 3 ] || break
        done
        judge "$expect" $status "$limit"
        if [ -n "$keep" ]; then
            cp "$out" "$keep/$transport-$name.out"
        fi
    fi
    printf '%-4s  %-16s %-26s %5.1f s  %s\n' "$verdict" "$transport" "$name" \
        "$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')" "$remark${faulty:+ ($faulty)}"
    case $verdict in
    PASS | SKIP) ;;
    *) tail -n 40 "$out" | sed 's/^/      | /' ;;
    esac
}

# Waits for the oldest test, shows its lines and counts it.
reap()
{
    local number=${running[0]} verdict
    running=("${running[@]:1}")
    wait "${pids[number]}"
    cat "$work/$number.lines"
    read -r verdict _ <"$work/$number.lines"
    case $verdict in
    PASS) passed=$((passed + 1)) ;;
    SKIP) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    rm -rf "$work/$number".*
}

# Sets the array fabric: fabric_command, and in every other test over a protocol of rbuf with the fault, which `faulty` says.
choose_fabric() # TRANSPORT
{
    fabric=("${fabric_command[@]}")
    faulty=
    if [ "$fault" != none ] && [ ${#fabric[@]} -gt 0 ] && [[ " $transport_protocols " == *" $1 "* ]] &&
        [ $((started % 2)) = 0 ]; then
        fabric=("${fabric[@]:0:${#fabric[@]}-1}" --fault "$fault" --)
        faulty=$fault
    fi
}

# Sets left_out to why no test can run with it; nothing if they can.
find_left_out() # TRANSPORT SETTING
{
    left_out=
    if [[ ${1%%:*} = helper ]] && transport_left_out helper; then
        left_out="this build of rbuf leaves protocol helper out"
    elif [ "$2" = reuse ] && transport_left_out reuse; then
        left_out="this build of rbuf leaves reuse out"
    fi
}

# run_test beside others.
start_test()
{
    while [ ${#running[@]} -ge "$jobs" ]; do
        reap
    done
    started=$((started + 1))
    out=$work/$started.out
    choose_fabric "$1"
    run_test "$@" >"$work/$started.lines" 3<&- &
    pids[started]=$!
    running+=("$started")
}

# Without --all and --only every other test is left out where it is one of many runs of the same program: with reuse,
# and over the protocols behind the first. Those of one day run the day after.
is_todays() # NUMBER
{
    [ $long = yes ] || [ -n "$only" ] || [ $((($1 + turn + today) % 2)) -eq 0 ]
}

# Whether a test is to run with the setting: WHEN and THOSE are its columns of the list, NUMBER its line. With reuse all do,
# but for those of none, and with an order of one-sided operations those that name it.
with_setting() # SETTING WHEN THOSE NUMBER
{
    if [ "$3" = none ]; then
        [ "$1" = default ]
        return
    fi
    if [[ " $rma_orders " == *" $1 "* ]]; then
        [[ ",$3," == *",$1,"* ]]
        return
    fi
    if [ "$1" = reuse ]; then
        is_todays "$4"
        return
    fi
    [ "$1" = default ] || [ "$3" = all ] || [[ ",$3," == *",$1,"* ]] ||
        { [ "$long $2" = "yes always" ] && is_turn "$1" "$4" "$ring_settings"; }
}

# With --all each test of rings also has every third of the settings that it does not name, and each
# setting every third of the tests; and likewise each test where large messages do not matter has every
# third of the protocols behind the first.
is_turn() # WORD NUMBER LIST: whether it is the turn of this word of the list with the test of that number
{
    local words word=0
    read -ra words <<<"$3"
    while [ "${words[word]}" != "$1" ]; do
        word=$((word + 1))
    done
    [ $(((word + $2) % 3)) -eq 0 ]
}

# A line of the list runs over a protocol behind the first.
runs_over_others() # TRANSPORT OVER NUMBER
{
    case $2 in
    all) is_todays "$3" ;;
    first) [ $long = yes ] && is_turn "$1" "$3" "${names[*]}" ;;
    one) return 1 ;;
    *) refuse "testlist: over '$2' is none of all, first, one" ;;
    esac
}

run_list() # TRANSPORT SETTING
{
    local name when over ranks limit expect with command suffix= number=0
    transport_options "$1"
    ring_options "$2"
    find_left_out "$1" "$2"
    [ "$2" = default ] || suffix=",$2"
    while read -r name when over ranks limit expect with command <&3; do
        case $name in
        '' | '#'*) continue ;;
        esac
        number=$((number + 1))
        if [ "$when" = long ] && [ $long = no ] || ! with_setting "$2" "$when" "$with" $number; then
            continue
        fi
        if [ $first = no ] && ! runs_over_others "$1" "$over" $number; then
            continue
        fi
        if [ $((number % ${part#*/})) -ne "${part%/*}" ] || { [ -n "$only" ] && ! [[ $name =~ $only ]]; }; then
            continue
        fi
        # shellcheck disable=SC2086 # the command of the table is words
        start_test "$1" "$name$suffix" "$ranks" "$limit" "$expect" $command
    done 3<"$here/testlist"
}

today=$((10#$(date +%j)))
turn=0 # counts protocols and settings
first=yes # of rbuf's
for transport in "${names[@]}"; do
    for setting in "${settings[@]}"; do
        if [ "$setting" = default ] ||
            [[ $first = yes && " $transport_protocols " == *" $transport "* ]]; then
            run_list "$transport" "$setting"
            turn=$((turn + 1))
        fi
    done
    [[ " $transport_protocols " != *" $transport "* ]] || first=no
done
while [ ${#running[@]} -gt 0 ]; do
    reap
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
