#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
#
# How often programs send from a buffer that they sent from before, as table 1 of Rashti and Afsahi 2011: what the
# counters of btl_rbuf_reuse say of NAS IS and of the programs of this folder. As CSV, a line for each job:
#
#   program     the job, by the name of its check
#   messages    eager messages, puts and gets whose buffer was looked up, of all ranks; where it does not pay, these are
#               one in sixteen
#   percent     how many of these were not of a new buffer
#   most,bytes  most uses of one buffer by one rank, and the longest of these
#
#   reuse.sh [NAME...]   as run.sh's; nas_is and whatever is installed of four of these by default
#
# Environment: as common.sh has it. What is not installed has no line. Exit status: 0, or 1 if a job failed.
set -u
# shellcheck source=tests/programs/common.sh
. "$(cd "$(dirname "$0")" && pwd)/common.sh"
export OMPI_MCA_btl_rbuf_reuse=on OMPI_MCA_btl_rbuf_report=2 PROGRAMS_PROTOCOLS=superpipeline
[ $# -gt 0 ] || set -- nas_is netpipe hpcc lammps scalapack
TALLY_LOGS=$work/reports
mkdir "$TALLY_LOGS" || exit 1

nas_is() {
    job "NAS IS class A, 2 ranks" superpipeline 180 2 "$RBUF_BUILD/contrib/nas_is/nas_is" --class A
    [ "$status" = 0 ] && return
    cat "$log"
    return 1
}

# What the ranks of a job report together; no line without a report, or without a message.
summary() { # LOG
    awk -v name="$(basename "$1" .log | sed 's/_over_superpipeline//; y/_/ /')" '
        /^rbuf-report:/ {
            for (i = 2; i <= NF; i++) if (split($i, f, "=") == 2) value[f[1]] = f[2]
            messages += value["reuse_messages"]
            fresh += value["reuse_added"] + value["reuse_refused"]
            if (value["reuse_most"] > most) { most = value["reuse_most"]; bytes = value["reuse_most_bytes"] }
        }
        END { if (messages) printf "%s,%d,%.1f,%d,%d\n", name, messages, 100 * (1 - fresh / messages), most, bytes }' "$1"
}

failed=0
for name in "$@"; do
    if [ "$name" = nas_is ]; then
        nas_is >&2 || failed=1
    else
        TALLY_LOGS=$TALLY_LOGS "$here/$name.sh" >&2 || failed=1
    fi
done
echo "program,messages,percent,most,bytes"
for log in "$TALLY_LOGS"/*.log; do
    summary "$log"
done
exit $failed
