#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# ScaLAPACK's own testers on 4 ranks. They check residuals and count them. LU and Cholesky are given
# matrices whose panels are large messages; the long form adds the packaged inputs, which are small.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
read -ra testers_in < <(echo /usr/lib/*/scalapack/openmpi-tests)
testers_in=${testers_in[0]}
if [ ! -x "$testers_in/xdlu" ]; then
    skip ScaLAPACK "its testers are not installed"
    tally
    exit
fi
cp /usr/share/scalapack/*.dat "$work" && cd "$work" || exit 1

# A driver's input: a square matrix in blocks of 32 and of 128, 40 right-hand sides, the grid 2 by 2.
large_input() { # DRIVER
    echo "'One matrix, large panels'"
    echo "'4 ranks'"
    echo "'$1.out'  output file name"
    echo "6  device out"
    [ "$1" = LU ] || echo "'U'  triangle"
    echo "1  number of problems"
    [ "$1" = LLT ] || echo "$order  values of M"
    echo "$order  values of N"
    echo "2  number of NB's"
    echo "32 128  values of NB"
    echo "1  number of NRHS's"
    echo "40  values of NRHS"
    echo "1  number of NBRHS's"
    echo "32  values of NBRHS"
    echo "1  number of grids"
    echo "2  values of P"
    echo "2  values of Q"
    echo "3.0  threshold"
    echo "F  condition numbers and refinement"
}

order=640 # about the most that the testers have memory for

# The drivers end with the count of checks that passed and failed; xssvd has a line for each instead.
wrong_residuals() {
    wrong_end | grep . && return
    if ! grep -q -i 'END OF TESTS' "$log"; then
        echo "it did not reach its end"
    elif [ "$(residuals)" = 0 ]; then
        echo "nothing was checked"
    elif grep -E '^ *[1-9][0-9]* tests completed and failed|^Failed ' "$log"; then
        :
    fi
}

residuals() {
    awk '/tests completed and passed/ { n += $1 } /^Passed / { n++ } END { print n + 0 }' "$log"
}

# tester PROTOCOL PROGRAM WHAT: with the input file that it looks for in the current directory.
tester() {
    local name="ScaLAPACK $2 $3, over $1"
    job "$name" "$1" 300 4 "$testers_in/$2"
    verdict "$name" "$(wrong_residuals)" "$(residuals) residuals in $took s"
}

for protocol in "${protocols[@]}"; do
    for kind in LU LLT; do
        large_input $kind >$kind.dat
        tester "$protocol" "xd${kind,,}" "of order $order"
        cp /usr/share/scalapack/$kind.dat $kind.dat
    done
    tester "$protocol" xdqr "as packaged"
    [ "$programs_all" = yes ] || continue
    # Not xdllt: it does not always come to its end, over whatever transport.
    for program in xdlu xzlu xzqr xdinv xdls xdtrd xdbrd xdhrd xssep xssvd xdnep; do
        tester "$protocol" $program "as packaged"
    done
done
tally
