# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced after common.sh: runs the lines of faults.table.

# shellcheck source=tests/rings.sh
. "$here/../rings.sh"

# What else is wrong with a job that ended as promised; others may have an opinion of their own.
wrong_besides() { # OUTCOME
    :
}

full_name() { # LETTER OF A PROTOCOL
    case $1 in
    s) echo superpipeline ;;
    p) echo pipeline ;;
    c) echo copy ;;
    r) echo register ;;
    R) echo rcache ;;
    a | A) echo auto ;;
    h) echo helper ;;
    esac
}

# Sets the array protocol_args, options of mpirun.
protocol_options() { # LETTER
    case $1 in
    a | A) protocol_args=("${auto_args[@]}" --mca btl_rbuf_report 2) ;;
    *) protocol_args=() ;;
    esac
    test "$1" != A || protocol_args+=(--mca btl_rbuf_allow_cache off)
}

# Lines that are about rings say nothing if none was used.
no_ring="no message went by a ring"
wrong_ring() { # WHEN SETTING
    [ "$1" != rings ] || [ "$2" = off ] || grep -q '^rings: ' "$log" || echo "$no_ring"
}

# Lines that are about auto say nothing if it did not want any registration.
wrong_auto() { # OUTCOME PROTOCOL BYTES
    [[ $1$2 != right[aA] || $3 -lt 60000 ]] || grep -q '_trial=[1-9]' "$log" ||
        echo "auto did not try to register"
}

# With what check_line() has set.
job_of_line() { # as check_line()
    local hca=("${hca[@]}")
    test "$2" = "${2#IRDMA,}" || hca+=(--like irdma)
    set -- "$1" "${2#IRDMA,}" "${@:3}"
    faulty "$name" "${2/ONE/only=OMPI_COMM_WORLD_RANK:1}" $((patience + 30)) "$(full_name "$3")" "$4" $rounds
    wrong=$(wrong_outcome "$1")
    [ -n "$wrong" ] || wrong=$(wrong_ring "$6" "$7")
    [ -n "$wrong" ] || wrong=$(wrong_auto "$1" "$3" "$4")
    [ -n "$wrong" ] || wrong=$(wrong_besides "$1")
}

check_line() { # OUTCOME FAULT PROTOCOL BYTES FURTHER WHEN RINGS
    local rounds=10 setting wrong ranks=2 name="${before_name-}$2, $(full_name "$3"), $4 bytes${5:+, $5}"
    test "$3" != A || name+=", no cache"
    test "$4" -lt 4000000 || rounds=3
    test "$6" != rings || rounds=100
    # One place is for one partner of several. Of four that lose peers, who ends first is named.
    [[ $7 != one-place && $7 != tight || $1 != right ]] || ranks=4
    test "$7" = default || name+=", rings $7"
    if { [ "$3" = h ] && transport_left_out helper; } || { [[ $5$7 = *reuse* ]] && transport_left_out reuse; }; then
        skip "$name" "this build of rbuf leaves it out"
        return
    fi
    ring_options "$7"
    protocol_options "$3"
    mpi=("${ring_args[@]}" "${protocol_args[@]}")
    for setting in ${5//,/ }; do
        mpi+=(--mca "btl_rbuf_${setting%%=*}" "${setting#*=}")
    done
    # The fault is counted and the ring is granted by time: on a busy machine the fault may be first.
    # And mpirun may lose all that a process said before it ended.
    for _ in {1..5}; do
        until_told job_of_line "$@"
        [[ $wrong = "$no_ring" || $wrong = "$no_fault" ]] || break
    done
    verdict "$name" "$wrong" "$(how_it_ended)"
}

check_table() { # REGEX [SETTING]: of the lines to take; a setting of eager rings, for those about them
    local when outcome fault protocols bytes further protocol size
    transport_left_out helper || : # asks once, for all shells
    while read -r when outcome fault protocols bytes further; do
        case $when in
        '' | '#'*) continue ;;
        long) [ "$robust_all" = yes ] || continue ;;
        esac
        [ -z "${2-}" ] || [ "$when" = rings ] || continue
        [[ "$when $outcome $fault $protocols" =~ $1 ]] || continue
        test "$further" = - && further=
        for protocol in ${protocols//,/ }; do
            for size in ${bytes//,/ }; do
                aside check_line "$outcome" "$fault" "$protocol" "$size" "$further" \
                    "$when" "${2:-default}"
            done
        done
    done <"$here/faults.table"
    together
}
