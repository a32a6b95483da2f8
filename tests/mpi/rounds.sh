# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by scripts that run two things in turn and judge the quotient of their times.

# rounds_judge OURS THEIRS MOST: reads a line "MICROSECONDS MICROSECONDS" for each round, and prints the rounds and the
# median of the quotients. Status 1: that is above MOST, or a run has no time.
rounds_judge()
{
    awk -v ours="$1" -v theirs="$2" -v most="$3" '
        NF != 2 { print "a run ended without a time"; failed = 1; next }
        { print "round " NR ": " ours " " $1 " us, " theirs " " $2 " us"; quotient[++n] = $1 / $2 }
        END {
            if (failed || n == 0)
                exit 1
            for (i = 1; i <= n; i++)
                for (j = i + 1; j <= n; j++)
                    if (quotient[j] < quotient[i]) { q = quotient[i]; quotient[i] = quotient[j]; quotient[j] = q }
            q = quotient[int((n + 1) / 2)]
            printf "%s / %s %.2f, at most %.2f\n", ours, theirs, q, most
            exit q > most
        }'
}
