#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# HPC Challenge on 4 ranks (a 2 by 2 grid), and in the long form on 2: each of its parts verifies its own
# result, and says so in hpccoutf.txt.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands HPCC hpcc
sample=/usr/share/doc/hpcc/examples/_hpccinf.txt
if [ ! -r "$sample" ]; then
    skip HPCC "its sample of an input file, $sample, is not there"
    tally
    exit
fi
cd "$work" || exit 1
order=480
[ "$programs_all" = no ] || order=1200

# The value of KEY in the summary.
value_of() {
    sed -n "s/^$1=//p" hpccoutf.txt | tail -n 1
}

# What HPCC's verification found, part by part; nothing if all is well.
wrong_results() {
    local key bad
    if ! grep -q '^End of HPC Challenge tests' hpccoutf.txt 2>/dev/null; then
        echo "it did not reach its end"
        return
    fi
    for key in MPIRandomAccess_LCG_Errors MPIRandomAccess_Errors PTRANS_residual; do
        [ "$(value_of $key)" = 0 ] || echo "$key is $(value_of $key)"
    done
    [ "$(value_of Success)" = 1 ] || echo "Success is $(value_of Success)"
    awk -v e="$(value_of MPIFFT_maxErr)" 'BEGIN { exit !(e != "" && e < 1e-12) }' ||
        echo "MPIFFT_maxErr is $(value_of MPIFFT_maxErr)"
    [ "$(grep -c 'Scaled residual:\|avg error less than' hpccoutf.txt)" -ge 2 ] ||
        echo "DGEMM or STREAM was not verified"
    bad=$(grep -E 'FAILED|Node\(s\) with error [1-9]|Found [1-9][0-9]* errors|[1-9][0-9]* tests completed and failed' \
        hpccoutf.txt | head -n 1)
    [ -z "$bad" ] || echo "$bad"
}

# hpcc_over PROTOCOL ROWS COLUMNS
hpcc_over() {
    local name="HPCC, $(($2 * $3)) ranks, over $1" wrong
    rm -f hpccoutf.txt
    sed -e "s/^[0-9]* *Ns\$/$order Ns/" -e "s/^2  *Ps\$/$2 Ps/" -e "s/^2  *Qs\$/$3 Qs/" "$sample" >hpccinf.txt
    job "$name" "$1" 400 $(($2 * $3)) hpcc
    wrong=$(wrong_end)
    if [ -z "$wrong" ]; then
        wrong=$(wrong_results | paste -s -d ';')
        cat hpccoutf.txt >>"$log" 2>/dev/null
    fi
    verdict "$name" "$wrong" "HPL of $order, PTRANS, RandomAccess, FFT and the rest verified in $took s"
}

# Two ranks have the larger messages, for which the protocols differ.
hpcc_over "${protocols[0]}" 2 2
for protocol in "${protocols[@]:1}"; do
    hpcc_over "$protocol" 1 2
done
tally
