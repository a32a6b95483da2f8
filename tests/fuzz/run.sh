#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Fuzzes everything that parses bytes from outside, with libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer; ends with the line "N passed, N failed, N skipped".
#
#   run.sh [--all] [--seconds N | --hours N] [--jobs N] [NAME...]
#       replays the corpus and what was ever found, then fuzzes each target for so long: 5 s, or
#       40 s with --all. NAMEs are targets, all by default. Ten minutes and more run at the lowest
#       priority.
#   run.sh --merge DIR... [NAME...]
#       takes what long runs found (DIR/NAME/corpus) into the corpus here, as small as it can be
#   run.sh --coverage [NAME...]
#       lines and branches of each product file that the corpus reaches
#
# A target NAME is fuzz_NAME.c; target() below says what it is made of. corpus/NAME and
# regressions/NAME hold inputs, one a line in base64; lines of # are remarks. Where a run found
# something, its input is left in FUZZ_WORK/NAME/found, and a line for regressions/ is printed.
#
# Environment: RBUF_BUILD, a configured build directory (flags of Open MPI and libraries);
# FUZZ_WORK, where programs, corpora and logs go (default: a directory that is removed at the end).
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
all_names="exchange listener modex core params interfaces units options config bench is"
clang=${CLANG:-clang}
seconds=5
jobs=2
mode=fuzz
names=()
from=()
while [ $# -gt 0 ]; do
    case $1 in
    --all) seconds=40 ;;
    --seconds) seconds=${2:?--seconds wants a number} && shift ;;
    --hours) seconds=$((3600 * ${2:?--hours wants a number})) && shift ;;
    --jobs) jobs=${2:?--jobs wants a number} && shift ;;
    --coverage) mode=coverage ;;
    --merge) mode=merge ;;
    *)
        if [[ " $all_names " == *" $1 "* ]]; then
            names+=("$1")
        elif [ $mode = merge ] && [ -d "$1" ]; then
            from+=("$(cd "$1" && pwd)")
        else
            sed -n '4,/^$/s/^# \{0,1\}//p' "$0" >&2
            exit 2
        fi
        ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || read -ra names <<<"$all_names"
if [ -z "${FUZZ_WORK-}" ]; then
    FUZZ_WORK=$(mktemp -d) || exit 1
    trap 'rm -rf "$FUZZ_WORK"' EXIT
fi
mkdir -p "$FUZZ_WORK" && FUZZ_WORK=$(cd "$FUZZ_WORK" && pwd) || exit 1
TALLY_LOGS=${TALLY_LOGS:-$FUZZ_WORK/logs}
mkdir -p "$TALLY_LOGS" || exit 1
# shellcheck source=tests/tally.sh
. "$here/../tally.sh"

rbuf=$top/opal/mca/btl/rbuf
verbs=$rbuf/verbs
connect=$rbuf/connect
softhca=$top/contrib/softhca
common=(-std=gnu11 -D_GNU_SOURCE= -g -O1 -Wall -Wextra -Werror -fno-omit-frame-pointer)
checks=(-fsanitize=address,undefined -fno-sanitize-recover=all)

# A variable of the component's Makefile, as configure set it.
made_with() { # VARIABLE
    sed -n "s/^$1 = //p" "${RBUF_BUILD:-}/opal/mca/btl/rbuf/Makefile" 2>/dev/null
}

wrapped() { # FUNCTION...
    local function
    for function in "$@"; do
        links+=("-Wl,--wrap=$function")
    done
}

# What the target is made of. `product` is watched for coverage, the harness is not; `inside` are
# files of the product that the target includes. Returns 77 if something is missing here.
target() { # NAME
    product=()
    inside=()
    harness=()
    flags=(-I"$here" -I"$rbuf") # of the compiler
    links=()                    # of the linker
    longest=512
    case $1 in
    exchange)
        product=("$connect/exchange.c")
        longest=160
        ;;
    listener)
        product=("$connect"/{exchange,event_queue,socket,handshake,outgoing,listening,listener,address,port_address,descriptors}.c
            "$rbuf"/common/{close_on_fork,names,problem}.c)
        harness=("$here/listener_caller.c")
        flags+=(-I"$top/tests/verbs")
        wrapped socket connect getsockopt send pthread_create pthread_join pthread_setname_np
        links+=(-levent -lpthread)
        longest=2048
        ;;
    modex)
        product=("$rbuf/module/modex.c" "$rbuf"/common/{close_on_fork,names,problem}.c "$connect"/{address,port_address}.c
            "$verbs"/{port_open,port_tables,in_order,order_probe,memory,queue_pair,receive}.c)
        flags+=(-I"$verbs")
        links+=(-libverbs)
        longest=640
        ;;
    core)
        product=("$rbuf"/core/{,*/}*.c)
        harness=("$here"/{core_foe,core_early_foe,core_rogue,core_user,core_watch,records}.c
            "$top/ompi-mca-btl-rbuf/model/machine.c"
            "$top"/tests/sim/{clock,keys,net,pair,world}.c
            "$top"/tests/sim/world_{am,cost,loss,packed,prestage,raw,start,user}.c
            "$top"/tests/inspect/*.c)
        flags+=(-I"$top/tests/sim" -I"$top/tests" -I"$top/ompi-mca-btl-rbuf" -I"$top/contrib")
        wrapped rbuf_copy rbuf_copy_checksum world_user_events rbuf_core_received rbuf_core_immediate \
            rbuf_core_progress sim_post
        links+=(-lm)
        longest=4096
        ;;
    params)
        [ -n "$(made_with btl_rbuf_CPPFLAGS)" ] || return 77
        product=("$rbuf"/{params/check,params/params,params/protocol,params/values,common/names,core/base/schedule}.c)
        read -ra made <<<"$(made_with btl_rbuf_CPPFLAGS)"
        flags+=("${made[@]/#-D_GNU_SOURCE/-g}")
        ;;
    interfaces)
        product=("$verbs"/{device,selection,fork}.c "$connect"/{address,port_address}.c "$rbuf"/common/{names,problem}.c)
        flags+=(-I"$verbs")
        wrapped getifaddrs freeifaddrs
        ;;
    units)
        product=("$softhca/units.c")
        flags+=(-I"$softhca")
        longest=128
        ;;
    options)
        product=("$softhca"/{units,options,profiles,models}.c)
        inside=("$softhca/fabric_file.c")
        flags+=(-I"$softhca" '-DSOFTHCA_VERSION="0"')
        ;;
    config)
        product=("$softhca"/{fault_list,models,device_list}.c)
        inside=("$softhca/config.c")
        flags+=(-I"$softhca")
        wrapped exit
        ;;
    bench)
        product=("$top/ompi-mca-btl-rbuf"/{bench/cases,bench/options,common/options,common/values}.c
            "$rbuf/params/values.c")
        flags+=(-I"$top/ompi-mca-btl-rbuf")
        links+=(-lm)
        ;;
    is)
        product=("$top/contrib/nas_is/classes.c")
        inside=("$top/contrib/nas_is/nas_is.c")
        [ -n "$(made_with MPI_LIBS)" ] || return 77
        read -ra made <<<"$(made_with MPI_CFLAGS)"
        flags+=(-I"$top/contrib/nas_is" "${made[@]}")
        read -ra links <<<"$(made_with MPI_LIBS)"
        wrapped exit MPI_Finalize
        links+=(-lm)
        longest=128
        ;;
    esac
}

# Files of two folders may have one name.
object_of() { # PROGRAM FILE
    echo "$1-$(basename "$(dirname "$2")")-$(basename "$2" .c).o"
}

# Compiles and links FUZZ_WORK/NAME/PROGRAM. The product and the target's own file are compiled
# with `watch` besides the checks.
build() { # NAME PROGRAM WATCH...
    local name=$1 program=$2 file object objects=() made status=0
    shift 2
    target "$name" || status=$?
    if [ $status -ne 0 ]; then
        echo "RBUF_BUILD names no build directory that configure has finished"
        return $status
    fi
    mkdir -p "$FUZZ_WORK/$name/objects"
    for file in "$here/fuzz_$name.c" "${product[@]}"; do
        object=$FUZZ_WORK/$name/objects/$(object_of "$program" "$file")
        "$clang" "${common[@]}" "${checks[@]}" "$@" "${flags[@]}" \
            -c "$file" -o "$object" || return 1
        objects+=("$object")
    done
    for file in "$here/heap.c" "${harness[@]}"; do
        object=$FUZZ_WORK/$name/objects/$(object_of "$program" "$file")
        "$clang" "${common[@]}" "${checks[@]}" "${flags[@]}" -c "$file" -o "$object" || return 1
        objects+=("$object")
    done
    "$clang" "${checks[@]}" -fsanitize=fuzzer "$@" "${objects[@]}" "${links[@]}" \
        -o "$FUZZ_WORK/$name/$program"
}

# Inputs from a file of them to a folder, each under a name of its own.
unpack() { # FILE DIRECTORY
    mkdir -p "$2" && [ -f "$1" ] || return 0
    perl -MMIME::Base64 -MDigest::SHA=sha1_hex -e '
        my ($file, $directory) = @ARGV;
        open(my $in, "<", $file) or die "$file: $!\n";
        while (my $line = <$in>) {
            next if $line =~ /^#/ or $line !~ /\S/;
            my $bytes = decode_base64($line);
            open(my $out, ">", "$directory/" . sha1_hex($bytes)) or die "$directory: $!\n";
            binmode $out;
            print $out $bytes;
            close($out) or die "$directory: $!\n";
        }' "$1" "$2"
}

# The inputs of a folder, one a line.
pack() { # DIRECTORY
    perl -MMIME::Base64 -e '
        my @lines;
        for my $file (glob("$ARGV[0]/*")) {
            open(my $in, "<", $file) or die "$file: $!\n";
            binmode $in;
            local $/;
            push @lines, encode_base64(scalar(<$in>), "") . "\n";
        }
        print sort { length($a) <=> length($b) or $a cmp $b } @lines;' "$1"
}

# Options of every run; what is found goes to FUZZ_WORK/NAME/found.
fuzzer_options() { # NAME
    # A busy machine makes any input slow: what counts is the time-out.
    options=(-max_len="$longest" -timeout=100 -report_slow_units=100 -rss_limit_mb=2048
        -artifact_prefix="$FUZZ_WORK/$1/found/" -print_final_stats=1 -verbosity=1 -use_value_profile=0)
    [ -f "$here/dictionaries/$1" ] && options+=(-dict="$here/dictionaries/$1")
    export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=64
    export UBSAN_OPTIONS=print_stacktrace=1
}

# Whether leaks are told from what other threads allocate.
heap() {
    local program=$FUZZ_WORK/probe/heap
    mkdir -p "$FUZZ_WORK/probe"
    "$clang" "${common[@]}" "${checks[@]}" -I"$here" "$here/test_heap.c" "$here/heap.c" -lpthread \
        -o "$program" && "$program"
}

# All that was found and kept, then new inputs.
fuzz() { # NAME
    local name=$1 work=$FUZZ_WORK/$1 options status=0 lowly=()
    target "$name" || return
    [ "$seconds" -lt 600 ] || lowly=(nice -n 19)
    mkdir -p "$work/corpus" "$work/found"
    unpack "$here/corpus/$name" "$work/corpus" && unpack "$here/regressions/$name" "$work/kept" ||
        return 1
    fuzzer_options "$name"
    "$work/fuzz" "${options[@]}" -runs=0 "$work/kept" || return 1
    "${lowly[@]}" "$work/fuzz" "${options[@]}" -max_total_time="$seconds" "$work/corpus" "$work/kept" || status=$?
    for input in "$work"/found/*; do
        [ -f "$input" ] || continue
        echo "found: $input; as a line of regressions/$name:"
        base64 -w 0 "$input"
        echo
        status=1
    done
    return $status
}

# What a run came to, out of its log: the last run's figures.
remark_of() { # NAME
    awk '/^stat::number_of_executed_units/ { inputs = $2 }
        / cov: / { for (i = 1; i < NF; i++) { if ($i == "cov:") edges = $(i + 1)
                                            if ($i == "corp:") corpus = $(i + 1) } }
        END { sub("/.*", "", corpus)
              print inputs + 0 " inputs, " edges + 0 " edges, corpus of " corpus + 0 }' \
        "$(log_of "fuzz $1")"
}

fuzz_all() {
    local name running=0 statuses=$FUZZ_WORK/statuses
    rm -rf "$statuses" && mkdir -p "$statuses"
    try "heap" heap
    for name in "${names[@]}"; do
        TALLY_TIMEOUT=300 try "build $name" build "$name" fuzz -fsanitize=fuzzer-no-link || continue
        [ -x "$FUZZ_WORK/$name/fuzz" ] || continue
        [ $running -lt "$jobs" ] || { wait -n && running=$((running - 1)); }
        (fuzz "$name" >"$(log_of "fuzz $name")" 2>&1 </dev/null && echo 0 || echo 1) >"$statuses/$name" &
        running=$((running + 1))
    done
    wait
    for name in "${names[@]}"; do
        [ -f "$statuses/$name" ] || continue
        if [ "$(cat "$statuses/$name")" = 0 ]; then
            pass "fuzz $name" "$(remark_of "$name")"
        else
            fail "fuzz $name" "$(grep -m 1 -E 'fuzz: does not hold|ERROR: |runtime error' "$(log_of "fuzz $name")")"
            show_log "fuzz $name" 60
        fi
    done
}

# The smallest inputs that reach the same edges, and of those that pass them as often the smallest.
merge_one() { # NAME
    local name=$1 work=$FUZZ_WORK/$1 options sources=() directory
    build "$name" fuzz -fsanitize=fuzzer-no-link || return
    rm -rf "$work/corpus" "$work/edges" "$work/counts" "$work/merged"
    mkdir -p "$work/edges" "$work/counts" "$work/merged" "$work/found"
    unpack "$here/corpus/$name" "$work/corpus" || return
    sources=("$work/corpus")
    for directory in "${from[@]}"; do
        [ -d "$directory/$name/corpus" ] && sources+=("$directory/$name/corpus")
    done
    fuzzer_options "$name"
    "$work/fuzz" "${options[@]}" -merge=1 -use_counters=0 "$work/edges" "${sources[@]}" &&
        "$work/fuzz" "${options[@]}" -merge=1 "$work/counts" "${sources[@]}" || return
    keep_small "$work/merged" "$work/edges" "$work/counts"
    pack "$work/merged" >"$here/corpus/$name.new" && mv "$here/corpus/$name.new" "$here/corpus/$name"
}

# Links inputs into a folder, the smallest of each source first: fewer than 200, below 140 KB.
keep_small() { # DIRECTORY SOURCE...
    local kept=0 bytes=0 size file directory=$1 source
    shift
    for source in "$@"; do
        while read -r size file; do
            [ -e "$directory/${file##*/}" ] && continue
            if [ $kept -lt 199 ] && [ $((bytes + size)) -le 140000 ]; then
                ln "$file" "$directory/"
                kept=$((kept + 1))
                bytes=$((bytes + size))
            fi
        done < <(find "$source" -type f -printf '%s %p\n' | sort -n)
    done
}

coverage_one() { # NAME
    local name=$1 work=$FUZZ_WORK/$1 options
    build "$name" coverage -fprofile-instr-generate -fcoverage-mapping || return
    mkdir -p "$work/found"
    unpack "$here/corpus/$name" "$work/corpus" && unpack "$here/regressions/$name" "$work/corpus" ||
        return
    fuzzer_options "$name"
    LLVM_PROFILE_FILE=$work/profile "$work/coverage" "${options[@]}" -runs=0 "$work/corpus" || return
    "${clang/clang/llvm-profdata}" merge -sparse "$work/profile" -o "$work/profile.merged" || return
    target "$name"
    echo "coverage of $name"
    "${clang/clang/llvm-cov}" report "$work/coverage" -instr-profile="$work/profile.merged" \
        "${product[@]}" "${inside[@]}" |
        awk '/^-|^Filename/ { next } NF > 9 { print $1, "lines", $10, "branches", $13 }'
}

# What the machine must have; else everything is skipped.
probe() {
    local work=$FUZZ_WORK/probe
    mkdir -p "$work"
    if ! command -v "$clang" >/dev/null; then
        echo "no clang here"
        return 1
    fi
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long s) { return s > 0 && !d; }' \
        >"$work/probe.c"
    if ! "$clang" -fsanitize=fuzzer,address,undefined "$work/probe.c" -o "$work/probe" 2>/dev/null; then
        echo "$clang cannot link libFuzzer with the sanitizers"
        return 1
    fi
}

if ! reason=$(probe); then
    for name in "${names[@]}"; do
        skip "fuzz $name" "$reason"
    done
    tally
    exit
fi
case $mode in
fuzz) fuzz_all ;;
merge)
    for name in "${names[@]}"; do
        try "merge $name" merge_one "$name"
    done
    ;;
coverage)
    for name in "${names[@]}"; do
        try "coverage $name" coverage_one "$name"
        grep -E ' lines ' "$(log_of "coverage $name")"
    done
    ;;
esac
tally
