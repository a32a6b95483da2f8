#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# NetPIPE with its integrity check: every size up to 2 MB (the long form: 8 MB), three bytes more and three
# fewer, each buffer filled and compared by NetPIPE itself.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
need_commands NetPIPE NPopenmpi
cd "$work" || exit 1

# The integrity check says so once a size; a failing one ends the program.
wrong_integrity() { # FEWEST
    wrong_end | grep . && return
    if grep -q -i 'integrity check failed' "$log"; then
        echo "wrong data"
    elif [ "$(grep -c 'Integrity check passed' "$log")" -lt "$1" ]; then
        echo "fewer than $1 sizes were checked"
    fi
}

largest=2097152
fewest=35
if [ "$programs_all" = yes ]; then
    largest=8388608
    fewest=40
fi

# netpipe PROTOCOL WHAT [OPTION...]
netpipe() {
    local protocol=$1 name="NetPIPE $2 over $1"
    shift 2
    job "$name" "$protocol" 150 2 NPopenmpi -i -u $largest "$@"
    verdict "$name" "$(wrong_integrity $fewest)" "$(grep -c 'check passed' "$log") sizes in $took s"
}

for protocol in "${protocols[@]}"; do
    netpipe "$protocol" "integrity"
    if [ "$programs_all" = yes ]; then
        netpipe "$protocol" "integrity, receives posted ahead" -a
        netpipe "$protocol" "integrity, wildcard receives" -z
        netpipe "$protocol" "integrity, synchronous sends" -S
        netpipe "$protocol" "integrity, unaligned buffers" -O 1,3
    fi
done
tally
