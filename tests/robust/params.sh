#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Parameters: values that cannot be used end the job with one message that says which parameter it
# is, what it was set to and what is allowed; odd but good ones work; ompi_info explains them all.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
source_of_names=$here/../../opal/mca/btl/rbuf
at_once=$(($(nproc) + 1))

# What is wrong with the end of a job that had to refuse NAME=VALUE.
wrong_refusal() { # NAME VALUE
    local headlines
    wrong_failure 30 | grep . && return
    headlines=$(lines_with '^(The rbuf transport (was|could|found|told)|The GID index|A port cannot)')
    if [ "$headlines" != 1 ]; then
        echo "$headlines messages"
    elif ! grep -q -E "^  Parameters?: .*\\bbtl_rbuf_$1\\b" "$log"; then
        echo "the parameter is not named"
    elif ! grep -E '^  [A-Z][A-Za-z ]*: ' "$log" | grep -q -F -e "$2"; then
        echo "the value is not named"
    elif ! grep -q -E '^  (Allowed|There is|Remedy): +[^ ]' "$log"; then
        echo "what is allowed is not said"
    fi
}

job_with() { # WHAT NAME VALUE CHECK PROGRAM...
    job "$4" 30 2 "${@:5}"
    if [ "$1" = refused ]; then
        wrong=$(wrong_refusal "$2" "$3")
    else
        wrong=$(wrong_success)
    fi
}

# Whether the parameter or counter is one of a feature that this build leaves out.
is_left_out() { # NAME
    case $1 in
    helper_*) transport_left_out helper ;;
    reuse | reuse_*) transport_left_out reuse ;;
    *) return 1 ;;
    esac
}

# One line of the table, in a shell of its own.
check_line() { # WHAT NAME VALUE NUMBER: the number keeps the logs of c0=+12k and c0=-12k apart
    local check="param $4: $2=$3" wrong program=("$mpi_tests/finalize" nothing)
    if is_left_out "$2"; then
        skip "$check" "this build of rbuf leaves it out"
        return
    fi
    test "$1" = works && program=("$robust_tests/steady" 0)
    export "OMPI_MCA_btl_rbuf_$2=$3"
    until_told job_with "$1" "$2" "$3" "$check" "${program[@]}"
    verdict "$check" "$wrong" "$1"
}

# The lines of the table run side by side, each in a shell of its own; the counts are collected.
check_table() {
    local when what name value number=0 file
    while read -r when what name value <&3; do
        case $when in
        '' | '#'*) continue ;;
        long) [ "$robust_all" = yes ] || continue ;;
        esac
        value=${value//'``'/}
        number=$((number + 1))
        (check_line "$what" "$name" "${value//\~/ }" $number) >"$TALLY_LOGS/param.$(printf %03d $number)" 3<&- &
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
            wait -n
        done
    done 3<"$here/params.table"
    wait
    for file in "$TALLY_LOGS"/param.[0-9][0-9][0-9]; do
        cat "$file"
        passed=$((passed + $(grep -c '^PASS' "$file")))
        failed=$((failed + $(grep -c '^FAIL' "$file")))
        skipped=$((skipped + $(grep -c '^SKIP' "$file")))
        rm -f "$file"
    done
}

parameter_names() { # the names in the table of parameters
    sed -n -E 's/^(NUMBER|STRING)\(//; s/^ *([a-z_0-9]+), ".*/\1/p' "$source_of_names/params/rows.h"
}

counter_names() { # the names in the table of counters
    sed -n 's/^    {"\([a-z_0-9]*\)", \(CORE\|TOTAL\)(.*/\1/p' "$source_of_names/report/counters.c"
}

# Every parameter stands in the table above.
check_table_complete() {
    local name missing=0
    while read -r name; do
        grep -q -E "^(always|long) +refused +$name " "$here/params.table" && continue
        echo "no refused value of $name in params.table"
        missing=1
    done < <(parameter_names)
    return $missing
}

# ompi_info gives each its range and default, and the counters as performance variables.
check_ompi_info() {
    local name wrong=0 text=$TALLY_LOGS/ompi_info.txt parameters=0 counters=0
    OMPI_MCA_mca_base_component_path="SYS_DEFAULT:$RBUF_COMPONENT_DIR" \
        ompi_info --param btl rbuf --level 9 >"$text" 2>&1 || return
    while read -r name; do
        ! is_left_out "$name" || continue
        parameters=$((parameters + 1))
        grep -A 20 -F "parameter \"btl_rbuf_$name\"" "$text" |
            awk 'NR > 1 && /parameter "/ { exit } { sub(/^ */, ""); printf "%s ", $0 }' |
            grep -q -E '\(.+; default: .+\)' && continue
        echo "parameter btl_rbuf_$name: no range and default"
        wrong=1
    done < <(parameter_names)
    while read -r name; do
        ! is_left_out "$name" || continue
        counters=$((counters + 1))
        grep -q -F "performance \"btl_rbuf_$name\"" "$text" && continue
        echo "no performance variable btl_rbuf_$name"
        wrong=1
    done < <(counter_names)
    # The emulated adapter has the version of the rest.
    grep -F "\"btl_rbuf_version\"" "$text" | grep -F "\"$("$softhca" --version | cut -d ' ' -f 2)\"" || wrong=1
    echo "$parameters parameters, $counters counters"
    [ $parameters -ge 30 ] && [ $counters -ge 20 ] && return $wrong
}

# Values that are good each for itself.
check_pair() ( # NAMED OTHER...: settings as NAME=VALUE; the message is about the first
    for setting in "$@"; do
        export "OMPI_MCA_btl_rbuf_$setting"
    done
    until_told job_with refused "${1%%=*}" "${1#*=}" "pair $*" "$mpi_tests/finalize" nothing
    verdict "pair $*" "$wrong"
)

check_pairs() {
    local line
    while read -r line; do
        if is_left_out "${line%%=*}" || { [[ $line = *=helper* ]] && transport_left_out helper; }; then
            skip "pair $line" "this build of rbuf leaves it out"
            continue
        fi
        # shellcheck disable=SC2086 # the settings are words
        check_pair $line && passed=$((passed + 1)) || failed=$((failed + 1))
    done <<END
if_exclude=softhca0:1 if_include=softhca0:1
protocol=rcache allow_cache=off
reuse=on allow_cache=off
protocol=helper allow_cache=off
c0=64k largest_chunk=32k
staging_size=64k block_size=64k
staging_size=2097151 block_size=1M largest_chunk=1M
END
}

# osc/rbuf with such a value leaves the work to osc/rdma, and says so.
check_osc() { # NAME VALUE [NAME VALUE]: the message is about the first
    local name="osc_rbuf: $*" wrong
    mpi=(--mca "osc_rbuf_$1" "$2" ${3:+--mca "osc_rbuf_$3" "$4"})
    until_told job_of_osc "$name" "Parameter:  osc_rbuf_$1|Value:      $2|Allowed:    bytes.*|Remedy:     .*"
    verdict "$name" "$wrong"
}

# How the job ends says nothing: where a rank has shown a text one of Open MPI 4.1.4's callbacks may come when
# its component (pmix) has been unloaded.
job_of_osc() { # NAME SAID
    job "$1" 60 2 "$mpi_tests/epochs" packed created
    wrong=
    if [ "$(lines_with '^[0-9]+ checks, 0 wrong$')" != 1 ]; then
        wrong="status $status, data not checked"
    elif [ "$(lines_with "^  ($2)\$")" != 4 ]; then
        wrong="parameter, value and what is allowed are not said once"
    fi
}

# Of a feature that is left out a parameter is told of, once, and does no harm.
check_left_out() { # FEATURE PARAMETER
    local name="left out: $2" wrong
    transport_left_out "$1" || return 0
    export "OMPI_MCA_btl_rbuf_$2=on"
    until_told job_of_left_out "$name" "$1" "$2"
    unset "OMPI_MCA_btl_rbuf_$2"
    verdict "$name" "$wrong"
}

job_of_left_out() { # NAME FEATURE PARAMETER
    job "$1" 30 2 "$robust_tests/steady" 0
    wrong=$(wrong_success)
    [ -n "$wrong" ] || [ "$(lines_with "^  Parameters: +btl_rbuf_$3\$")" = 1 ] || wrong="the parameter is not named"
    [ -n "$wrong" ] || [ "$(lines_with "^  Remedy: .*--without-$2\$")" = 1 ] || wrong="the option of configure is not named"
}

transport_left_out helper || : # asks once, for all shells
try "every parameter has a line in params.table" check_table_complete
try "ompi_info" check_ompi_info
check_table
check_pairs
check_left_out helper helper_policy
check_left_out reuse reuse
for setting in "message_size 511" "message_size 2M" "message_size 12.5k" "limit lots" "limit 1000 message_size 1000"; do
    # shellcheck disable=SC2086 # the setting is words
    check_osc $setting
done
check_osc message_size "" # Open MPI has NULL for it
tally
