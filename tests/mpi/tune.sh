#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# rbuf-tune on the emulated adapter: the constants of its profiles come out, the file that it writes is
# taken by mpirun, and what is wrong is named. Ends with "N passed, N failed, N skipped".
#
#   tune.sh [measures] [says]   what it measures; what it says and refuses; both by default
#
# Environment as run.sh's; rbuf-tune, rbuf-bench and rbuf-plot are those of PATH. Timing on a machine that
# does something else besides is off: a profile is measured up to three times.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=contrib/transports.sh
. "$here/../../contrib/transports.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
TALLY_LOGS=$work
. "$here/../tally.sh"
if ! command -v "${SOFTHCA:-softhca}" >/dev/null; then
    skip "rbuf-tune on the emulated adapter" "its launcher is not installed"
    tally
    exit
fi
gap=100

# adapter PROFILE COMMAND...: on that profile with the gap; none: on no adapter.
adapter() {
    local profile=$1
    shift
    if [ "$profile" = none ]; then
        timeout -k 5 "$(patience_for 100)" "$@"
    else
        timeout -k 5 "$(patience_for 100)" "${SOFTHCA:-softhca}" --profile "$profile" --gap "${gap}ns" --fabric "tune$$" \
            ${softhca_options-} -- "$@"
    fi
}

# tune PROFILE RANKS [MPIRUN-OPTION...] -- OPTION...: over rbuf where transport is not set otherwise.
tune() {
    local profile=$1 ranks=$2 options=() mca
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    transport_options "${transport:-superpipeline}" || return
    mpi_launch_options "$ranks"
    # rbuf's default protocol is left unsaid.
    mca=" ${transport_args[*]} "
    mca=${mca/ --mca btl_rbuf_protocol superpipeline / }
    read -ra transport_args <<<"$mca"
    adapter "$profile" "${MPIRUN:-mpirun}" "${mpi_args[@]}" "${transport_args[@]}" "${options[@]}" \
        rbuf-tune "$@"
}

# constant FILE NAME [WHICH]: its value there; of several, the WHICH-th.
constant() {
    grep -F -- "$2" "$1" | sed -n "${3:-1}s/^.\{36\} *\([0-9.]*\) .*/\1/p"
}

# near NAME FOUND WANTED RELATIVE ABOVE: within RELATIVE of WANTED, or ABOVE more than that.
near() {
    awk -v name="$1" -v found="$2" -v wanted="$3" -v part="$4" -v above="$5" 'BEGIN {
        good = found != "" && found >= wanted * (1 - part) && found <= wanted * (1 + part) + above
        printf "%s: %s, to be %s within %g %% or %g more: %s\n", name, found, wanted, 100 * part, above,
            good ? "yes" : "NO"
        exit !good }'
}

# The latency: at most 1500 ns more than it is, or twice what a word takes now without any, if that is
# more. There are minutes in which a line takes long from core to core.
near_latency() { # PROFILE FOUND LATENCY
    local out=$work/out.word word

    near "lambda" "$2" "$3" 0.1 1500 && return
    softhca_options="--latency 0" tune "$1" 2 -- --seconds 1 >"$out" 2>&1 || {
        cat "$out"
        return 1
    }
    word=$(constant "$out" "lambda, latency")
    near "lambda, as a word takes $word without any" "$2" "$3" 0.1 "$(awk -v word="$word" 'BEGIN { print 2 * word }')"
}

# What the profile is made of comes out. Above: the emulation's own processor time. Its latency is that of
# a word that the receiver's poll takes, its gap is seen against writes whose ends are a copy each.
constants() { # PROFILE
    local out=$work/out.$1 good=yes
    tune "$1" 2 -- --seconds 4 --output "$work/$1.conf" --csv "$work/$1.csv" >"$out" 2>&1 || {
        cat "$out"
        return 1
    }
    profile_figures "$1" || return
    near "B_net" "$(constant "$out" "B_net, bandwidth")" "$(awk -v b="$profile_bandwidth" 'BEGIN { print b / 1e9 }')" 0.05 0 || good=no
    near_latency "$1" "$(constant "$out" "lambda, latency")" "$profile_latency" || good=no
    near "gap" "$(constant "$out" "g, gap between")" $gap 0.5 150 || good=no
    near "registration" "$(constant "$out" "  registration")" "$profile_reg" 0.1 5000 || good=no
    near "a page" "$(constant "$out" "and for each 4 KB page")" "$profile_reg_page" 0.2 100 || good=no
    test $good = yes
}

check_constants() { # PROFILE
    local attempt
    for attempt in 1 2 3; do
        echo "attempt $attempt"
        constants "$@" && return
    done
    return 1
}

# The file's values, as the job that takes it runs with them.
takes_its_file() { # FILE
    local out=$work/out.takes name value line
    tune graphene 2 --tune "$1" -- --seconds 1 >"$out" 2>&1 || {
        cat "$out" "$1"
        return 1
    }
    line=$(grep "^  as it is" "$out")
    echo "$line"
    while IFS='=' read -r name value; do
        case $name in
        btl_rbuf_c0) value="first chunk $value," ;;
        btl_rbuf_q) value="growth q $(printf %.3f "$value")," ;;
        btl_rbuf_buffers) value="$value buffers," ;;
        btl_rbuf_largest_chunk) value="largest chunk $value," ;;
        btl_rbuf_block_size) value="blocks of $value," ;;
        btl_rbuf_early_size) value="early data of $value:" ;;
        *) continue ;;
        esac
        if [[ $line != *" $value"* ]]; then
            echo "no '$value' in it"
            return 1
        fi
    done <"$1"
}

# With that alone a job uses rbuf.
enough() { # FILES
    mpi_launch_options 2
    adapter graphene "${MPIRUN:-mpirun}" "${mpi_args[@]}" --tune "$1" --mca btl_rbuf_report 2 \
        rbuf-bench --sizes 8 --reps 1 2>&1 | grep "^rbuf-report: "
}

# refused STATUS TEXT PROFILE RANKS ... as tune
refused() {
    local wanted=$1 text=$2 status=0 name="refused: $2"
    shift 2
    tune "$@" >"$(log_of "$name")" 2>&1 || status=$?
    if [ $status -eq "$wanted" ] && grep -qF -- "$text" "$(log_of "$name")"; then
        pass "$name"
    else
        fail "$name" "status $status, wanted $wanted"
        show_log "$name"
    fi
}

measured() { grep -q "^superpipeline as it is (measured),1048576," "$work/graphene.csv"; }

# What the wire carries in 40 us are 117 KB: there is more early data, as far as there is staging for
# windows of four slots. How busy the machine is tells by how much.
early_size_of() { # OUTPUT OPTION...: in KB; 0 where there is none
    local out=$1
    shift
    softhca_options="--latency 20us" tune infini 2 "$@" -- --seconds 2 --output "$work/far.conf" >"$out" 2>&1 &&
        sed -n 's/^btl_rbuf_early_size=\([0-9]*\)k$/\1/p' "$work/far.conf" | grep . || echo 0
}
more_early_data() {
    local early little
    early=$(early_size_of "$work/out.far")
    little=$(early_size_of "$work/out.little" --mca btl_rbuf_staging_size 2560k)
    echo "early data of $early KB, with little staging $little KB"
    [ "$early" -gt 96 ] && [ "$early" -le 256 ] && [ "$little" -gt 72 ] && [ "$little" -le 128 ]
}
far_receiver() {
    more_early_data || more_early_data || more_early_data && return
    cat "$work/out.far" "$work/out.little"
    return 1
}

parts=" ${*:-measures says} "
if [[ $parts == *" measures "* ]]; then
    for profile in graphene infini roce40; do
        try "$profile's constants" check_constants $profile
    done
    for profile in graphene infini roce40; do
        try "mpirun takes what was chosen on $profile" takes_its_file "$work/$profile.conf"
    done
    # Open MPI 5.0 wants the component path on the command line.
    if [[ $("${MPIRUN:-mpirun}" --version) != *" 5."* ]]; then
        set_file=$(dirname "$(command -v rbuf-tune)")/../share/openmpi/amca-param-sets/rbuf.conf
        try "what it writes is enough" enough "$work/graphene.conf"
        try "likewise beside rbuf.conf" enough "$set_file,$work/graphene.conf"
    fi
    printf '# other values\nbtl_rbuf_c0=8k\nbtl_rbuf_q=2.5\nbtl_rbuf_buffers=4\nbtl_rbuf_largest_chunk=128k\nbtl_rbuf_block_size=8k\nbtl_rbuf_early_size=96k\n' \
        >"$work/other.conf"
    try "mpirun takes other values" takes_its_file "$work/other.conf"

    try "the job's messages are measured over rbuf" measured
    try "a far receiver is sent more early data" far_receiver
fi
if [[ $parts != *" says "* ]]; then
    tally
    exit
fi

over_tcp() {
    transport=tcp tune graphene 2 -- --seconds 1 --quiet --csv "$work/tcp.csv" >"$work/out.tcp" 2>&1 &&
        grep -q "do not go over rbuf" "$work/out.tcp" && ! grep -q measured "$work/tcp.csv" &&
        ! grep -q "rbuf-tune: what registering" "$work/out.tcp"
}
try "over tcp they are only predicted" over_tcp
schedule_of() { sed -n 's/^  as it is *\(.*\): [0-9.]* % of the wire$/\1/p' "$1"; }
same_defaults() {
    tune graphene 2 -- --seconds 1 --quiet >"$work/out.rbuf" 2>&1 && schedule_of "$work/out.tcp" &&
        [ -n "$(schedule_of "$work/out.rbuf")" ] &&
        [ "$(schedule_of "$work/out.tcp")" = "$(schedule_of "$work/out.rbuf")" ]
}
try "without the component its defaults are known" same_defaults
# Messages have early data, unless that is off, there are no windows, or no staging for them.
early_or_not() {
    grep -qF "share of the wire's speed, 16 KB" "$work/out.rbuf" &&
        tune graphene 2 --mca btl_rbuf_early_peers 0 -- --seconds 1 --quiet >"$work/out.waits" 2>&1 &&
        grep "share of the wire's speed behind the same rendezvous, 16 KB" "$work/out.waits" &&
        tune graphene 2 --mca btl_rbuf_staging_size 1536k -- --seconds 1 --quiet >"$work/out.little" 2>&1 &&
        grep "share of the wire's speed behind the same rendezvous, 16 KB" "$work/out.little" &&
        transport=tcp tune graphene 2 -x OMPI_MCA_btl_rbuf_early_data=off -- --seconds 1 --quiet >"$work/out.off" 2>&1 &&
        grep "share of the wire's speed behind the same rendezvous, 16 KB" "$work/out.off"
}
try "early data is predicted as such" early_or_not
on() { # SOFTHCA-OPTIONS TEXT: it measures, and prints that
    softhca_options=$1 transport=tcp tune graphene 2 -- --seconds 1 --quiet >"$work/out.on" 2>&1 &&
        grep -E "$2|^rbuf-tune" "$work/out.on"
}
try "bytes that are not placed in order" on "--data-in-order off" "blocks taken as they arrive: yes, with checksums"
try "little memory may be registered" on "--memlock 4M" "B_net"
if command -v gnuplot >/dev/null && command -v rbuf-plot >/dev/null; then
    draws() {
        tune graphene 2 -- --seconds 1 --plot "$work/p.svg" &&
            grep -q "recommended" "$work/p.svg" && grep -q "measured" "$work/p.svg"
    }
    try "a picture" draws
else
    skip "a picture" "gnuplot or rbuf-plot is not installed"
fi

refused 2 "1 rank: it measures between two" graphene 1 --
refused 2 "3 ranks: it measures" graphene 3 --
refused 2 "--seconds '0'" graphene 2 -- --seconds 0
refused 1 "'$work/none/x.conf' cannot be written: No such file or directory" graphene 2 -- --output "$work/none/x.conf"
transport=tcp refused 2 "btl_rbuf_c0 '12q' is not understood" graphene 2 -x OMPI_MCA_btl_rbuf_c0=12q --
for setting in early_peers=65 early_size=2g early_c0=4g; do
    transport=tcp refused 2 "early_peers, early_size or early_c0 is more than allowed" graphene 2 \
        -x "OMPI_MCA_btl_rbuf_$setting" --
done
softhca_options="--memlock 1M" transport=tcp refused 1 "memlock: " graphene 2 --
softhca_options="--fault qp-error=500" transport=tcp refused 1 "a write failed" graphene 2 --
transport=tcp refused 1 "no-such-interface" graphene 2 -x OMPI_MCA_btl_rbuf_if_include=mlx9_9 --
if ! fabric_hca_present; then
    transport=tcp refused 1 "no-device" none 2 -- --output "$work/nothing.conf"
    try "and leaves no file" test ! -e "$work/nothing.conf" -a ! -e "$work/nothing.conf.partial"
fi
tally
