#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# Faults with a component that is built with AddressSanitizer and UndefinedBehaviorSanitizer, whose
# libraries are preloaded next to the emulated adapter's. Open MPI leaks by itself: what counts are
# leaks with a function of the component in their stack (but those of leaks.supp), and every error.
#
# Environment: RBUF_SANITIZED_DIR, the directory of the mca_btl_rbuf.so that is built so.
set -u
# shellcheck source=tests/robust/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
# shellcheck source=tests/robust/table.sh
. "$here/table.sh"
before_name="sanitized: "
patience=120 # seconds; whoever is slow is not judged for it here

library=$(${CC:-cc} -print-file-name=libasan.so)
if [ ! -f "${RBUF_SANITIZED_DIR-}/mca_btl_rbuf.so" ] || [ ! -f "$library" ]; then
    skip "sanitized" "no component that is built with sanitizers (RBUF_SANITIZED_DIR), or no libasan"
    tally
    exit
fi
RBUF_COMPONENT_DIR=$RBUF_SANITIZED_DIR
forgetful=$TALLY_LOGS/forgetful.so
${CC:-cc} -shared -fPIC -o "$forgetful" "$here/forgetful.c" -ldl || exit 1

# Each job has reports of its own, named for its log. mpirun itself is not to run under sanitizers.
prepare_faulty() { # NAME
    local options=exitcode=0:fast_unwind_on_malloc=0:malloc_context_size=40
    reports=$(log_of "$1").report
    rm -f "$reports".*
    wrap=(env "ASAN_OPTIONS=$options:log_path=$reports" "UBSAN_OPTIONS=print_stacktrace=1"
        "LSAN_OPTIONS=suppressions=$here/leaks.supp:print_suppressions=0"
        sh -c 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$library:$forgetful")
}

# Leaks with one of our functions in their stack.
leaks_of_ours() {
    cat "$reports".* 2>/dev/null | perl -00 -ne 'print if /leak of/ && m{opal/mca/btl/rbuf/}'
}

wrong_besides() { # OUTCOME
    if grep -h -m 1 'ERROR: AddressSanitizer' "$reports".* 2>/dev/null; then
        cat "$reports".* >>"$log"
    elif grep -m 1 'runtime error:' "$log"; then
        :
    elif [ "$1" = right ]; then
        leaks_of_ours >>"$log"
        leaks_of_ours | grep -m 1 'leak of'
    fi
}

# The transport cannot be opened, and the job goes on without it.
off() { # FAULT
    local name="sanitized: off, $1" wrong
    btls=rbuf,tcp,self
    faulty "$name" "$1" 150 superpipeline 100000 2
    wrong=$(wrong_right)
    [ -n "$wrong" ] || grep -q '\]: fault: ' "$log" || wrong="the fault did not happen"
    [ -n "$wrong" ] || wrong=$(wrong_besides right)
    verdict "$name" "$wrong" "$(how_it_ended)"
}

# A leak and a wrong access must be seen, or what else is not seen is worth nothing.
sees_leak() {
    local name="sanitized: a leak is seen"
    export FORGETFUL=yes
    faulty "$name" seed=1 150 superpipeline 100000 4
    if [ -n "$(leaks_of_ours)" ]; then
        pass "$name"
    else
        verdict "$name" "it is not"
    fi
}

sees_access() {
    local name="sanitized: a wrong read is seen"
    robust_tests=$TALLY_LOGS # where the program stands under that name
    ln -sf "$RBUF_BUILD/tests/robust/outside" "$TALLY_LOGS/faulted"
    faulty "$name" seed=1 150 superpipeline 1 1
    if grep -q 'ERROR: AddressSanitizer: heap-buffer-overflow' "$reports".*; then
        pass "$name"
    else
        verdict "$name" "it is not"
    fi
}

# A trace has every state: as many puts end as grants are placed.
traced() {
    local name="sanitized: a trace of two processes" wrong files ended=0 placed=0
    export RBUF_TRACE=$TALLY_LOGS/trace.$BASHPID
    faulty "$name" seed=1 150 superpipeline 100000 4
    wrong=$(wrong_success) # the trace is left open, which is its way
    [ -n "$wrong" ] || was_checked || wrong="no data was checked"
    files=("$RBUF_TRACE".*)
    if [ -z "$wrong" ] && ! "$here/../../contrib/trace_pair.sh" "${files[@]}" >"$log.pair" 2>&1; then
        wrong="there are not two traces: ${files[*]}"
    fi
    if [ -z "$wrong" ]; then
        ended=$(grep -c 'put .*-> DONE' "$log.pair")
        placed=$(grep -c 'grant .*STAGED -> PLACED' "$log.pair")
        [ "$ended" -gt 0 ] && [ "$ended" = "$placed" ] || wrong="$ended puts ended, $placed grants were placed"
        ! grep 'not at its end' "$log.pair" || wrong="a transfer has no end"
    fi
    verdict "$name" "$wrong" "$placed transfers"
}

if [ "$robust_all" = yes ]; then
    check_table "${FAULTS:-^(also|rings|always)}"
    for call in open_device:2 query_device:2 query_port:2 query_gid:1 alloc_pd:1 create_qp:1+ \
        create_cq:1 create_cq:2 create_cq:3 create_srq:1 create_srq:2 post_srq_recv:1 \
        post_srq_recv:2 reg_mr:1 reg_mr:2 reg_mr:3 reg_mr:4 reg_mr:5 reg_mr:6; do
        aside off "call=$call"
    done
else
    check_table "${FAULTS:-^(also|rings)}"
    for call in query_port:2 create_cq:3 create_srq:2 post_srq_recv:2 reg_mr:4; do
        aside off "call=$call"
    done
fi
aside sees_leak
aside sees_access
aside traced
together
tally
