# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
# shellcheck shell=bash
#
# Sourced by the test scripts: limits by the clock are for a machine that has nothing else to do. Ranks poll, so
# where more processes run than there are processors each takes as many times as long.

# What SECONDS are worth now: so many times, up to eight, as there are processes that want a processor for each
# that there is, by the mean of the last minute.
patience_for() { # SECONDS
    awk -v seconds="$1" -v processors="$(nproc)" '{
        share = $1 / processors
        print int(seconds * (share < 1 ? 1 : share > 8 ? 8 : share) + 0.5)
    }' /proc/loadavg
}
